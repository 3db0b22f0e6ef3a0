# `make demo` and `make test` work in a fresh checkout. They set up .venv first.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
NATIVE := src/rekmeans/engines/native
CORE := CMakeLists.txt $(wildcard $(NATIVE)/core/*pp $(NATIVE)/core/*/*pp)

.PHONY: demo test test-gpu-logic lint docstrings stub docs sanitize compilers pure bench fuzz test-all clean
.DEFAULT_GOAL := test

$(VENV)/ready: pyproject.toml $(CORE)
	@echo "Setting up $(VENV) once, which takes a minute or two"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet --editable '.[test]'
	touch $@

demo: $(VENV)/ready
	$(RUN) examples/demo.py

lint: $(VENV)/ready
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/clang-format --dry-run --Werror $(filter %pp,$(CORE))
	$(RUN) -m mypy
	$(RUN) tests/project/check_docstrings.py
	$(RUN) tests/project/check_words.py
	$(VENV)/bin/codespell $$(git ls-files)

# The constructors and docstrings of the estimators, from their parameter table.
docstrings: $(VENV)/ready
	$(RUN) tests/project/write_docstrings.py
	$(RUN) -m ruff format src/rekmeans/estimators

# Type stubs of the compiled core, for mypy and editors.
stub: $(VENV)/ready
	$(RUN) -m nanobind.stubgen --quiet --module rekmeans.engines.native._core \
	  --output-file $(NATIVE)/_core.pyi

test: lint
	$(RUN) -m pytest -n 2

# Tests of the torch engine without a GPU: plain torch on the CPU, and the Triton kernels in Triton's
# interpreter (numpy < 2.3). They use a separate environment that also sees the packages of .venv.
# `TORCH=` selects another build of torch. The default may download gigabytes of CUDA libraries.
GPU := $(VENV)-gpu
TORCH ?= torch==2.13.0
SEES = import sysconfig; print("import site; site.addsitedir(%r)" % sysconfig.get_path("purelib"))
$(GPU)/ready: $(VENV)/ready
	$(PYTHON) -m venv $(GPU)
	$(GPU)/bin/python -m pip install --quiet $(TORCH) triton==3.6.0 'numpy<2.3'
	folder=$$($(GPU)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))'); \
	  $(RUN) -c '$(SEES)' > "$$folder/beside.pth"
	touch $@

test-gpu-logic: $(GPU)/ready
	TRITON_INTERPRET=1 OMP_NUM_THREADS=1 $(GPU)/bin/python \
	  -m pytest -n 2 -p no:cacheprovider tests/engines/torch

# Build the site in build/docs/index.html. Its examples run, and warnings are errors. The page of a
# finished `rekmeans reproduce` in reproduction/ is included. The dependencies of the extra `docs` are
# installed separately, so that the package is not built again.
DOCS = import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
       extras = project["optional-dependencies"]; \
       print(*(need for need in extras["docs"] if not need.startswith("rekmeans")), sep="\n")
$(VENV)/docs: $(VENV)/ready
	$(RUN) -c '$(DOCS)' > $(VENV)/docs.txt
	$(RUN) -m pip install --quiet --requirement $(VENV)/docs.txt
	touch $@

docs: $(VENV)/docs
	$(RUN) -m sphinx -W --keep-going --quiet -b html -d build/doctrees docs build/docs
	@echo "site: build/docs/index.html"

# Tests of the compiled passes and of malformed sparse tables, with a core that is built with
# AddressSanitizer and UndefinedBehaviorSanitizer, or with `SANITIZER=thread`, in a separate
# environment.
SANITIZER ?= address,undefined
comma := ,
SANITIZED := $(VENV)-sanitize-$(firstword $(subst $(comma), ,$(SANITIZER)))
LIBRARIES = $(if $(filter thread,$(SANITIZER)),libtsan.so,libasan.so libubsan.so)
# The thread sanitizer supports neither the imports of the table tests nor pytest-xdist.
MORE_TESTS = $(if $(filter thread,$(SANITIZER)),,tests/table/test_malformed_sparse.py -n 2)
sanitize:
	$(PYTHON) -m venv $(SANITIZED)
	$(SANITIZED)/bin/python -m pip install --quiet \
	  --config-settings=cmake.define.REKMEANS_SANITIZE=$(SANITIZER) '.[test]'
	LD_PRELOAD="$(foreach library,$(LIBRARIES),$$(c++ -print-file-name=$(library)))" \
	ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	TSAN_OPTIONS=halt_on_error=1:exitcode=66:die_after_fork=0 OPENBLAS_NUM_THREADS=1 setarch -R \
	$(SANITIZED)/bin/python -m pytest tests/engines/native tests/scales/test_compiled.py \
	  $(MORE_TESTS) -p no:cacheprovider

# Compare the bits of the core for all installed compilers, for each instruction set, without
# vectors, and for ARM in an emulator.
compilers: $(VENV)/ready
	$(RUN) tests/compilers/compare.py

# Test the package without its compiled core, as on a machine without a C++ compiler, in a separate
# environment: a build that requires the core fails, a plain build does not, and the first fit warns
# that the reference engine is used.
PURE := $(VENV)-pure
pure:
	$(PYTHON) -m venv $(PURE)
	! CXX=/bin/false $(PURE)/bin/python -m pip install --quiet --no-deps \
	  --config-settings=wheel.cmake=true . 2> /dev/null
	CXX=/bin/false $(PURE)/bin/python -m pip install --quiet .
	cd $(PURE) && bin/python -c 'from rekmeans import RectifiedEulerKMeans; \
	from sklearn.datasets import load_iris; \
	fits = [RectifiedEulerKMeans(3, random_state=0).fit(load_iris().data) for _ in range(3)]; \
	assert {fit.engine_ for fit in fits} == {"reference"}' 2>&1 | tee output.txt
	test "$$(grep -c "uses its slow engine 'reference'" $(PURE)/output.txt)" = 1

# Benchmarks against other libraries on the datasets in REKMEANS_DATA. They take about an hour.
bench: $(VENV)/ready
	$(RUN) -m pip install --quiet --editable '.[bench]'
	$(RUN) benchmarks/race.py run --out race.jsonl
	$(RUN) benchmarks/race.py table race.jsonl

# Random adversarial input for some minutes. fuzz-failures.txt explains how to repeat a failure.
# `SEED=1` draws other cases.
SEED ?= 0
fuzz: $(VENV)/ready
	$(RUN) -m fuzz --seed $(SEED)

# All tests. They take an hour or two.
test-all: test fuzz pure compilers
	$(RUN) -m pytest -m long
	$(MAKE) sanitize
	$(MAKE) sanitize SANITIZER=thread

clean:
	rm -rf $(VENV) $(VENV)-sanitize-* $(PURE) $(GPU) build dist demo docs/api docs/gallery
