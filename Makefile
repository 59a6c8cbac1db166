# The commands of the README. Each installs what it lacks (scripts/bootstrap.sh for apt, .venv for
# PyPI), builds what changed, and runs. Steps whose result lives in .venv leave a stamp there, so
# that removing .venv forgets them and nothing is built twice.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

export PYTHON ?= python3.11
export PIP_DISABLE_PIP_VERSION_CHECK := 1
PRESET ?= debug# of test-cpp: debug, release, asan or tsan
TESTS_WITH ?= check# the requirements of test-python: check or test
venv := .venv/bin
pip := $(venv)/pip install --quiet

# Where the extension of this Python is built; scikit-build-core names the folder after the wheel's tag.
extension = $(shell $(venv)/python -c "import glob, sys; print(*glob.glob('build/cp%d%d-*' % sys.version_info[:2]))")

# Folders are listed too: their time stamp moves when a file goes away.
sources := $(shell find CMakeLists.txt cmake cpp pyproject.toml python \
  -name __pycache__ -prune -o ! -name '*.so' -print)

.PHONY: help demo demo-torch test test-cpp test-long test-ops test-torch test-python test-py313 test-py314 bench bench-ops bench-nimble plots docs site lint lint-quick size wheel wheels clean
help: ## list these commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile | expand -t 20

demo: .venv/installed ## build dvm and run examples/demo.py
	$(venv)/python examples/demo.py

demo-torch: .venv/installed .venv/extra-demo ## encode sentences with PyTorch: eager, torch.compile and dvm
	$(venv)/python examples/demo_torch.py

# What fails in seconds comes before what is built for minutes. The C++ tests are linked with the libraries
# that the extension was built of.
test: lint-quick .venv/installed .venv/extra-test | apt-test ## check style and types, build everything, run the C++ and the Python tests
	cmake -S . -B $(extension) -DDVM_TESTS=ON --log-level=WARNING >/dev/null
	cmake --build $(extension)
	DVM_VERIFY=1 ctest --test-dir $(extension) --output-on-failure --timeout 300 -j 2
	$(venv)/pytest -n auto --dist worksteal

test-cpp: | apt-build apt-test ## run the C++ tests in a build of their own, that of PRESET: debug (with assertions), release, asan or tsan
	cmake --preset $(PRESET) --log-level=WARNING
	cmake --build --preset $(PRESET)
	ctest --preset $(PRESET)

# What of each kind of case `make test` takes a sample of (tests/py/whole.py).
test-long: .venv/installed .venv/extra-test ## run the Python tests with all of their cases (hours)
	DVM_TEST_WHOLE=1 $(venv)/pytest -n auto --dist worksteal

# One process, so that the last test can tell of all the others.
test-ops: .venv/installed .venv/extra-test ## run PyTorch's database of operators through the backend (a quarter of an hour)
	DVM_TEST_WHOLE=1 $(venv)/pytest -q -rP --show-capture=stdout tests/py/torch_door/test_op_db.py

test-torch: .venv/installed .venv/extra-test ## compare PyTorch models in all modes and dtypes, their training and gradients of ops (an hour)
	DVM_TEST_WHOLE=1 $(venv)/pytest -n auto --dist worksteal tests/py/torch_door/test_models.py tests/py/torch_door/test_gradients.py \
	  tests/py/torch_door/test_memory_use.py

test-python: .venv/installed .venv/extra-$(TESTS_WITH) ## run the Python tests on whatever Python PYTHON is
	$(venv)/pytest -n auto --dist worksteal

# In root folders of Debian that have these Pythons. TESTS_WITH=test brings PyTorch, too: gigabytes.
in-root := make PYTHON=python3 TESTS_WITH=$(TESTS_WITH)
test-py313: | apt-roots ## run the Python tests on CPython 3.13 (as root)
	scripts/python_root.sh trixie $(in-root) test-python
test-py314: | apt-roots ## the same on CPython 3.14
	scripts/python_root.sh sid $(in-root) test-python

bench: .venv/installed .venv/extra-bench | apt-bench ## time dvm and its peers (an hour), and the parts of dvm
	cmake --preset release -DDVM_BENCHMARKS=ON --log-level=WARNING
	cmake --build --preset release
	for bench in build/release/benchmarks/cpp/bench_*; do "$$bench"; done
	$(venv)/python -m benchmarks.peers --json build/peers.json --plot build/peers.png

bench-ops: .venv/installed .venv/extra-bench | apt-bench ## time operators against peers and the machine's limits (a quarter of an hour)
	cmake --preset release -DDVM_BENCHMARKS=ON --log-level=WARNING
	cmake --build --preset release --target machine_limits product_tiles
	$(venv)/python -m benchmarks.ops --json build/ops.json --plot build/ops.png

bench-nimble: .venv/installed .venv/extra-bench .venv/extra-demo ## time sentences through LSTM, Tree-LSTM and BERT, as the paper Nimble does (ten minutes)
	$(venv)/python -m benchmarks.nimble --json build/nimble.json --plot build/nimble.png

plots: .venv/installed .venv/extra-bench .venv/extra-demo | apt-bench ## measure and draw what docs/benchmarks.md shows (a quarter of an hour, on a quiet machine)
	$(venv)/python -m benchmarks.plots

docs: .venv/installed .venv/extra-test ## write the pages of docs/ that come from tables, and what notebooks print
	$(venv)/python tools/docs.py
	$(venv)/python tools/notebooks.py

site: .venv/extra-site ## build the documentation as a site into build/site
	NO_MKDOCS_2_WARNING=1 $(venv)/mkdocs build --quiet --strict

lint: .venv/extra-build .venv/extra-test .venv/extra-dev | apt-test apt-bench apt-format apt-tidy ## check style and types, and the C++ with clang-tidy (half an hour)
	PATH="$(CURDIR)/$(venv):$$PATH" scripts/lint.sh

lint-quick: .venv/extra-build .venv/extra-dev | apt-format ## the part of lint that takes seconds
	PATH="$(CURDIR)/$(venv):$$PATH" scripts/lint.sh quick

size: ## lines per folder
	@$(PYTHON) tools/sz.py

wheel: .venv/extra-build .venv/extra-wheels ## build the wheel of this Python into dist/, and try it
	$(venv)/python tools/wheel.py

wheels: wheel | apt-roots ## build and try those of CPython 3.11, 3.13 and 3.14 (as root), and the sdist
	for suite in trixie sid; do scripts/python_root.sh $$suite $(in-root) wheel; done
	$(venv)/python -c "from scikit_build_core.build import build_sdist; build_sdist('dist')"
	ls dist

clean: ## remove everything that was built
	rm -rf build dist .venv .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis

.PHONY: apt-build apt-test apt-bench apt-format apt-tidy apt-roots
apt-build apt-test apt-bench apt-format apt-tidy apt-roots: apt-%:
	@scripts/bootstrap.sh $*

.venv/created: | apt-build
	$(PYTHON) -m venv --clear .venv
	touch $@

# extra-build, extra-check, extra-test, extra-bench, extra-dev, extra-torch, extra-demo, extra-site: the requirements under that name in pyproject.toml.
.venv/extra-%: pyproject.toml tools/requirements.py .venv/created
	$(venv)/python tools/requirements.py $* | $(pip) -r /dev/stdin
	touch $@

# Without isolation the CMake build folder build/{wheel_tag} is kept, so a rebuild is incremental.
.venv/installed: $(sources) .venv/extra-build .venv/extra-run
	$(pip) --no-build-isolation --no-deps --force-reinstall .
	touch $@
