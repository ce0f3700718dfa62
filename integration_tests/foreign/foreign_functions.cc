// SPDX-License-Identifier: Apache-2.0
// Foreign functions for the tests of olympus.ffi, written against XLA's headers alone.

#include <cmath>
#include <cstdint>
#include <string_view>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

// The root mean square norm of `size` numbers; returns the factor that the numbers are scaled by.
float ComputeRmsNorm(float eps, int64_t size, const float* x, float* y) {
  float squares = 0.0f;
  for (int64_t i = 0; i < size; ++i) squares += x[i] * x[i];
  const float scale = 1.0f / std::sqrt(squares / static_cast<float>(size) + eps);
  for (int64_t i = 0; i < size; ++i) y[i] = scale * x[i];
  return scale;
}

// The number of rows, and their length: all dimensions but the last one count rows.
template <typename Buffer>
std::pair<int64_t, int64_t> Rows(const Buffer& buffer) {
  const auto dims = buffer.dimensions();
  if (dims.size() == 0) return {0, 0};
  const int64_t size = dims.back();
  return {size == 0 ? 0 : buffer.element_count() / size, size};
}

ffi::Error RmsNormImpl(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  const auto [rows, size] = Rows(x);
  if (x.dimensions().size() == 0) {
    return ffi::Error::InvalidArgument("RmsNorm: the operand must be an array, not a scalar");
  }
  for (int64_t row = 0; row < rows; ++row) {
    ComputeRmsNorm(eps, size, x.typed_data() + row * size, y->typed_data() + row * size);
  }
  return ffi::Error::Success();
}

ffi::Error RmsNormForwardImpl(float eps, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
                              ffi::ResultBuffer<ffi::F32> scale) {
  const auto [rows, size] = Rows(x);
  for (int64_t row = 0; row < rows; ++row) {
    scale->typed_data()[row] =
        ComputeRmsNorm(eps, size, x.typed_data() + row * size, y->typed_data() + row * size);
  }
  return ffi::Error::Success();
}

// y_i = s x_i with s = (mean(x^2) + eps)^(-1/2), so dx_j = s ct_j - x_j s^3 / n sum_i ct_i x_i.
ffi::Error RmsNormBackwardImpl(ffi::Buffer<ffi::F32> scale, ffi::Buffer<ffi::F32> x,
                               ffi::Buffer<ffi::F32> ct, ffi::ResultBuffer<ffi::F32> dx) {
  const auto [rows, size] = Rows(x);
  for (int64_t row = 0; row < rows; ++row) {
    const float s = scale.typed_data()[row];
    const float* xs = x.typed_data() + row * size;
    const float* cts = ct.typed_data() + row * size;
    float product = 0.0f;
    for (int64_t i = 0; i < size; ++i) product += cts[i] * xs[i];
    const float common = s * s * s / static_cast<float>(size) * product;
    for (int64_t i = 0; i < size; ++i) {
      dx->typed_data()[row * size + i] = s * cts[i] - common * xs[i];
    }
  }
  return ffi::Error::Success();
}

// Writes what it was given as attributes.
ffi::Error AttributesImpl(bool flag, int32_t narrow, int64_t wide, float single, double twice,
                          std::string_view text, ffi::Span<const int64_t> integers,
                          ffi::Dictionary options, ffi::ResultBuffer<ffi::F32> out) {
  if (out->element_count() != 9) return ffi::Error::InvalidArgument("Attributes: want 9 results");
  float sum = 0.0f;
  for (const int64_t value : integers) sum += static_cast<float>(value);
  const auto inner = options.get<double>("inner");
  if (!inner.has_value()) return inner.error();
  float* values = out->typed_data();
  values[0] = flag;
  values[1] = static_cast<float>(narrow);
  values[2] = static_cast<float>(wide >> 32);
  values[3] = single;
  values[4] = static_cast<float>(twice);
  values[5] = static_cast<float>(text.size());
  values[6] = static_cast<float>(integers.size());
  values[7] = sum;
  values[8] = static_cast<float>(*inner);
  return ffi::Error::Success();
}

// Adds one, and says whether operand and result are the same memory.
ffi::Error IncrementImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y,
                         ffi::ResultBuffer<ffi::S32> same) {
  same->typed_data()[0] = x.typed_data() == y->typed_data();
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1.0f;
  return ffi::Error::Success();
}

// Copies the memory as it lies.
ffi::Error MemoryImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i];
  return ffi::Error::Success();
}

int64_t calls = 0;

// Counts its calls.
ffi::Error CountImpl(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::S32> count) {
  count->typed_data()[0] = static_cast<int32_t>(++calls);
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNorm, RmsNormImpl,
                              ffi::Ffi::Bind()
                                  .Attr<float>("eps")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormForward, RmsNormForwardImpl,
                              ffi::Ffi::Bind()
                                  .Attr<float>("eps")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(RmsNormBackward, RmsNormBackwardImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(Attributes, AttributesImpl,
                              ffi::Ffi::Bind()
                                  .Attr<bool>("flag")
                                  .Attr<int32_t>("narrow")
                                  .Attr<int64_t>("wide")
                                  .Attr<float>("single")
                                  .Attr<double>("twice")
                                  .Attr<std::string_view>("text")
                                  .Attr<ffi::Span<const int64_t>>("integers")
                                  .Attr<ffi::Dictionary>("options")
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(Increment, IncrementImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(Memory, MemoryImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());

XLA_FFI_DEFINE_HANDLER_SYMBOL(Count, CountImpl,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::S32>>());
