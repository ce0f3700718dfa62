# SPDX-License-Identifier: Apache-2.0
# OLYMPUS on NVIDIA GPUs: docker build -f docker/cuda.Dockerfile -t olympus-cuda .
# and docker run --rm --gpus all olympus-cuda. CUDA's libraries come from the plugin's wheels; the
# host needs the driver and the NVIDIA container toolkit.
FROM python:3.12-slim
WORKDIR /olympus
COPY . .
RUN python -m pip install --no-cache-dir -r requirements.txt "packages/olympus[cuda13,examples]"
RUN useradd --create-home user
USER user
CMD ["python", "-c", "import olympus; print(olympus.devices())"]
