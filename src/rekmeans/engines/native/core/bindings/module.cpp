// The Python module of the core: DenseRows, SparseRows, Run, BlockRun, Seeding, fit_starts,
// soft_pass, medians, scales and constants.
#include "module.hpp"
#include "../parallel.hpp"
#include "../simd/instruction_set.hpp"

NB_MODULE(_core, m) {
  using namespace rekmeans;
  namespace nb = nanobind;
  m.doc() = "Exact passes over rows on circles, and passes in floats over points.";
  m.attr("GRID") = int64_t(GRID);
  m.attr("TURN") = int64_t(TURN);
  m.attr("MAX_COLUMNS") = int64_t(MAX_COLUMNS);
  m.attr("MAX_ROWS") = int64_t(MAX_ROWS);
  m.attr("MAX_THREADS") = int64_t(MAX_THREADS);
  m.attr("AT_CENTROID") = AT_CENTROID;
  m.def(
      "instruction_set",
      [](const std::string& name) { return std::string(choose_simd(name)->name); }, nb::arg("name"),
      "Return the instruction set with this name, or the best one if it is empty. Raises "
      "ValueError if the processor does not support it.");
  bind_rows(m);
  bind_run(m);
  bind_block_run(m);
  bind_seeding(m);
  bind_float(m);
  bind_scales(m);
  bind_error_bounds(m);
}
