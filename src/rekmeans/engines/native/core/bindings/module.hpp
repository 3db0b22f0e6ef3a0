// The functions that add bindings to the module, one for each file.
#pragma once
#include "arrays.hpp"

namespace rekmeans {

struct Rows;

// Return the centroid (p,) that fills missing cells, or an empty vector if no cell is missing.
std::vector<int32_t> overall_of(const Rows& rows, const std::optional<Int32s>& overall);
void check_has_rows(const Rows& rows);

void bind_rows(nb::module_& m);
void bind_run(nb::module_& m);
void bind_block_run(nb::module_& m);
void bind_seeding(nb::module_& m);
void bind_float(nb::module_& m);
void bind_scales(nb::module_& m);
void bind_error_bounds(nb::module_& m);

}  // namespace rekmeans
