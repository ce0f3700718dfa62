# SPDX-License-Identifier: Apache-2.0
# OLYMPUS on a CPU: docker build -f docker/cpu.Dockerfile -t olympus . && docker run --rm olympus
FROM python:3.12-slim
WORKDIR /olympus
COPY . .
RUN python -m pip install --no-cache-dir -r requirements.txt
RUN useradd --create-home user
USER user
CMD ["python", "examples/quickstart.py", "--output", "/tmp/loss.png"]
