#include "arrays.hpp"

namespace rekmeans {

nb::object to_int(int128 value) {
  return (nb::int_(high_word(value)) << nb::int_(64)) | nb::int_(low_word(value));
}

nb::object to_arrays(const std::vector<int128>& values, size_t k, size_t p) {
  bool fits = true;
  for (int128 value : values) fits &= value == int128(int64_t(value));
  std::vector<int64_t> high(values.size());
  if (fits) {
    for (size_t i = 0; i < values.size(); ++i) high[i] = int64_t(values[i]);
    return nb::cast(to_array(std::move(high), k, p));
  }
  std::vector<uint64_t> low(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    high[i] = high_word(values[i]), low[i] = low_word(values[i]);
  return nb::make_tuple(to_array(std::move(high), k, p), to_array(std::move(low), k, p));
}

std::string shape_text(const std::vector<size_t>& sizes) {
  std::string out;
  for (size_t size : sizes) out += (out.empty() ? "(" : ", ") + std::to_string(size);
  return (out.empty() ? "(" : out) + (sizes.size() == 1 ? ",)" : ")");
}

void check_shape(const char* what, const std::vector<size_t>& shape,
                 const std::vector<size_t>& sizes) {
  if (shape == sizes) return;
  throw nb::value_error(
      (what + (" = " + shape_text(sizes)) + ", got " + shape_text(shape) + ".").c_str());
}

}  // namespace rekmeans
