# Two commands on a bare checkout: `make demo` and `make test`. Each sets up .venv first.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
NATIVE := src/rekmeans/engines/native
CORE := CMakeLists.txt $(wildcard $(NATIVE)/core/*pp $(NATIVE)/core/*/*pp)

.PHONY: demo test test-gpu-logic lint docstrings stub docs sanitize compilers pure bench fuzz test-all clean
.DEFAULT_GOAL := test

$(VENV)/ready: pyproject.toml $(CORE)
	@echo "setting up $(VENV): a minute or two, once"
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
	$(VENV)/bin/codespell $$(git ls-files)

# The constructors and docstrings of the estimators, from their parameter table.
docstrings: $(VENV)/ready
	$(RUN) tests/project/write_docstrings.py
	$(RUN) -m ruff format src/rekmeans/estimators

# The types of the compiled core, for mypy and editors.
stub: $(VENV)/ready
	$(RUN) -m nanobind.stubgen --quiet --module rekmeans.engines.native._core \
	  --output-file $(NATIVE)/_core.pyi

test: lint
	$(RUN) -m pytest -n 2

# The torch engine without a card: plain torch on the processor and Triton's kernels in its
# interpreter (numpy < 2.3), in a .venv of its own that also sees what is installed in the other.
# `TORCH=` names another build of torch; the plain name may bring gigabytes of CUDA.
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

# The site, in build/docs/index.html; its examples run, and a warning is an error. The page of a
# finished `rekmeans reproduce` in reproduction/ is copied beside it. What the extra `docs` names is
# installed beside the package, which need not be built again for it.
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

# Tests of the compiled passes, exact and float, and of damaged sparse tables on a core built with
# AddressSanitizer and UndefinedBehaviorSanitizer, or with `SANITIZER=thread`; each in a .venv of
# its own.
SANITIZER ?= address,undefined
comma := ,
SANITIZED := $(VENV)-sanitize-$(firstword $(subst $(comma), ,$(SANITIZER)))
LIBRARIES = $(if $(filter thread,$(SANITIZER)),libtsan.so,libasan.so libubsan.so)
# The thread sanitizer cannot follow what the tests of tables import, nor pytest's workers.
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

# The bits of the core over all compilers at hand, each instruction set, no vectors, and ARM under
# an emulator.
compilers: $(VENV)/ready
	$(RUN) tests/compilers/compare.py

# The package without its compiled core, as where no C++ compiler works, in a .venv of its own: a
# build forced to have the core fails, a plain one does not, and the first fit says which engine
# runs.
PURE := $(VENV)-pure
pure:
	$(PYTHON) -m venv $(PURE)
	! CXX=/bin/false $(PURE)/bin/python -m pip install --quiet --no-deps \
	  --config-settings=wheel.cmake=true . 2> /dev/null
	CXX=/bin/false $(PURE)/bin/python -m pip install --quiet .
	cd $(PURE) && bin/python -c 'from rekmeans import RectifiedEulerKMeans; \
	from sklearn.datasets import load_iris; \
	fits = [RectifiedEulerKMeans(3, random_state=0).fit(load_iris().data) for _ in range(3)]; \
	assert {fit.engine_ for fit in fits} == {"reference"}' 2>&1 | tee said.txt
	test "$$(grep -c 'runs its slow reference engine' $(PURE)/said.txt)" = 1

# The race against other libraries, where REKMEANS_DATA names the data sets; takes about an hour.
bench: $(VENV)/ready
	$(RUN) -m pip install --quiet --editable '.[bench]'
	$(RUN) benchmarks/race.py run --out race.jsonl
	$(RUN) benchmarks/race.py table race.jsonl

# Random hostile input, some minutes of it; fuzz-failures.txt says how to repeat what fails.
# `SEED=1` draws other cases.
SEED ?= 0
fuzz: $(VENV)/ready
	$(RUN) -m fuzz --seed $(SEED)

# Everything that has an answer: an hour or two.
test-all: test fuzz pure compilers
	$(RUN) -m pytest -m long
	$(MAKE) sanitize
	$(MAKE) sanitize SANITIZER=thread

clean:
	rm -rf $(VENV) $(VENV)-sanitize-* $(PURE) $(GPU) build dist demo docs/api docs/gallery
