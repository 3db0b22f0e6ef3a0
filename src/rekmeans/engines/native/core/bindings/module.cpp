// The Python face of the core: DenseRows, SparseRows, Run, BlockRun, Seeding, fit_starts; soft_pass
// and medians; scales; constants.
#include "module.hpp"
#include "../parallel.hpp"
#include "../simd/instruction_set.hpp"

NB_MODULE(_core, m) {
  using namespace rekmeans;
  namespace nb = nanobind;
  m.doc() = "Passes over rows on circles, exact, and over points, in floats.";
  m.attr("GRID") = int64_t(GRID);
  m.attr("TURN") = int64_t(TURN);
  m.attr("MOST_COLUMNS") = int64_t(MOST_COLUMNS);
  m.attr("MOST_ROWS") = int64_t(MOST_ROWS);
  m.attr("MOST_THREADS") = int64_t(MOST_THREADS);
  m.attr("AT_CENTROID") = AT_CENTROID;
  m.def(
      "instruction_set",
      [](const std::string& name) { return std::string(choose_simd(name)->name); }, nb::arg("name"),
      "The instruction set of this name, the best where it is empty; ValueError where the "
      "processor lacks it.");
  bind_rows(m);
  bind_run(m);
  bind_block_run(m);
  bind_seeding(m);
  bind_float(m);
  bind_scales(m);
  bind_error_bounds(m);
}
