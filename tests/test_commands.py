"""What a shell command is: wrappers come off, quotes hide nothing, and arguments never decide by a substring."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro.commands import Kind, meaning, meanings, parsed

# What stands behind it must never change what a command is.
CASES: dict[Kind, tuple[str, ...]] = {
    Kind.TEST: (
        "cd x && uv run pytest -q | tail",
        "cd /srv/app && PYTHONPATH=. python3.11 -m pytest tests/test_a.py::test_b -x 2>&1 | tail -40",
        "sudo -u postgres timeout -k 5 60s pytest",
        "bash -lc 'cd repo && npm test -- --watch=false'",
        'docker compose exec -T web bash -c "python manage.py test app"',
        "docker exec -it -w /app web pytest",
        "kubectl exec -n ns pod -- pytest",
        "python -W ignore -m unittest discover -s tests",
        "coverage run -m pytest && coverage report",
        "coverage run --source src runtests.py",
        "find . -name '*_test.py' -exec pytest {} +",
        "ls tests/*.py | xargs -n 1 pytest",
        "for f in a b; do pytest $f; done",
        "if ! pytest -q; then echo bad; fi",
        "(cd sub && go test ./...)",
        "npx --yes vitest run",
        "npx jest@29 src",
        "pnpm -r run test:unit",
        "yarn test",
        "yarn workspace web test",
        "bun test",
        "bundle exec rspec spec/a_spec.rb",
        "bin/rails test",
        "poetry run pytest",
        "uvx --from pytest pytest",
        "cargo nextest run",
        "RUST_BACKTRACE=1 cargo test -- --nocapture",
        "cargo +nightly test",
        "./gradlew :app:testDebugUnitTest --info",
        "mvn -q -Dtest=FooTest test",
        "mvn clean verify",
        "dotnet test --filter X",
        "swift test",
        "mix test",
        "sbt test",
        "make -j4 check",
        "ninja -C build test",
        "cmake --build build --target test",
        "ctest --output-on-failure",
        "bazel test //...",
        "deno test -A",
        "flutter test",
        "php artisan test",
        "vendor/bin/phpunit",
        "prove -l t",
        "bats tests",
        "./tests/runtests.py admin_views",
        "python tests/runtests.py --settings=x",
        "bin/test sympy/core",
        "python bin/test sympy/core",
        "python setup.py test",
        "julia -e 'using Pkg; Pkg.test()'",
        "Rscript -e 'devtools::test()'",
        "node --test",
        "ruby -Itest test/a_test.rb",
        "clj -M:test",
        "stack test",
        "tox -e py311",
        "conda run -n dev pytest",
        "env -u A B=1 pytest",
        "xvfb-run -a npm run e2e",
        "nix-shell --run 'pytest -q'",
        "bash <<'EOF'\npytest -q\nEOF",
        "just test",
        "task test:unit",
        "playwright test",
        "npx playwright test",
        "xcodebuild -scheme A test",
    ),
    Kind.COMMIT: (
        'git commit -m "test the pytest run"',
        "git add -A && git -c user.name=x commit -qm 'x'",
        "git -C repo commit --amend --no-edit",
        "git commit -F - <<'EOF'\nRun npm test\nEOF",
    ),
    Kind.EDIT: (
        "sed -i 's/pytest/nose/' a.py",
        "sed -i.bak -e 's/a/b/' x.py",
        "cat <<'EOF' > a.py\npytest\nEOF",
        "cat > a.sh << EOF\nnpm test\nEOF",
        "echo pytest >> notes.txt",
        "perl -pi -e 's/a/b/' x.c",
        "printf 'x' | tee a.txt",
        "git apply fix.patch",
        "patch -p1 < fix.patch",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n*** End Patch\nEOF",
    ),
    Kind.FIND: ("grep -rn 'pytest' .", 'rg "npm test"', "find . -name test.py", "git grep pytest"),
    Kind.READ: (
        "cat tests/test_a.py",
        "sed -n '1,20p' a.py",
        "head -5 pytest.ini",
        "git show HEAD:a.py",
        "nl -ba a.py | sed -n 1,5p",
    ),
    Kind.LIST: ("ls -R", "tree -L 2", "ls tests", "ls | grep test"),
    Kind.RUN: (
        "python repro.py",
        "python test_repro.py",
        "python3 - <<'EOF'\nimport pytest\nEOF",
        "python -c 'print(1)'",
        "node index.js",
        "./a.out",
        "npm start",
        "npm run dev",
        "uv run script.py",
        "go run .",
        "./build.sh",
    ),
    Kind.INSTALL: (
        "pip install pytest",
        "uv pip install pytest",
        "npm ci",
        "npm install jest",
        "apt-get install -y x",
        "cargo add serde",
        "python -m pip install -e .",
    ),
    Kind.BUILD: (
        "make",
        "npm run build",
        "cargo build --release",
        "cmake -B build",
        "sphinx-build -b html a b",
        "python -m build",
    ),
    Kind.CHECK: (
        "ruff check .",
        "mypy src",
        "npm run lint",
        "npx tsc --noEmit",
        "cargo clippy",
        "black --check .",
        "go vet ./...",
        "make lint",
        "eslint tests",
    ),
    Kind.FORMAT: (
        "black .",
        "ruff format",
        "ruff check --fix .",
        "cargo fmt",
        "mv a.py b.py",
        "npx prettier --write x",
    ),
    Kind.INSPECT: ("git status", "git diff --cached", "git log -3", "python --version", "ps aux"),
    Kind.CHANGE: ("git checkout -- a.py", "git stash", "git add -A"),
    Kind.REMOVE: ("rm -rf reproduction", "git rm a"),
    Kind.NETWORK: ("curl -s http://localhost/test", "git push origin main", "gh pr create"),
    Kind.OTHER: ("echo 'run pytest'", "cd tests", "echo COMPLETE", "# pytest", "", "true", "export A=pytest"),
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in CASES.items() for text in texts])
def test_a_command_is_what_it_runs(kind: Kind, text: str) -> None:
    assert meaning(text).kind is kind


def test_files_that_a_line_changes_and_reads() -> None:
    assert meaning("sed -i 's/a/b/' src/a.py tests/b.py").writes == ("src/a.py", "tests/b.py")
    assert meaning("cat <<'EOF' > 'my file.py'\nx > y\nEOF\npython 'my file.py'").writes == ("my file.py",)
    assert meaning("cat a.py b.py 2>/dev/null | head").reads == ("a.py", "b.py")
    assert meaning("pytest > out.txt 2>&1").writes == ("out.txt",)
    assert meaning("apply_patch <<'E'\n*** Update File: src/a.py\n*** Add File: b.py\nE").writes == ("src/a.py", "b.py")


def test_the_command_that_counts_names_the_line() -> None:
    assert meaning("cd a && git add . && git commit -m x").program == "git commit"
    assert meaning("FOO=1 npm run test:unit -- -t x").program == "npm run test:unit"
    assert [part.kind for part in meanings("git commit -m a; git commit -m b")] == [Kind.COMMIT, Kind.COMMIT]


def test_words_come_without_their_quotes() -> None:
    [simple] = parsed("A=1 'a b' \"c $x\" d\\ e $'f\\n' >>out 2>&1 <in # no")
    assert simple.words == ("a b", "c $x", "d e", "f\\n")
    assert (simple.assignments, simple.writes, simple.reads) == (("A=1",), ("out",), ("in",))


def test_a_here_document_belongs_to_its_command_and_ends_at_its_mark() -> None:
    first, second = parsed("cat <<A > x\nEOF\n  A b\nA\necho done")
    assert (first.document, first.writes, second.words) == ("EOF\n  A b\n", ("x",), ("echo", "done"))


@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=200) | st.text("'\"\\$(){}<>|&; \n`#=EOF-ab", max_size=60)
)
def test_no_text_is_too_strange(text: str) -> None:
    assert meaning(text).kind in Kind
    assert all(isinstance(simple.words, tuple) for simple in parsed(text))


@given(st.text("abcdefghij /.-_", min_size=1, max_size=30))
def test_quoted_words_never_change_what_a_command_is(words: str) -> None:
    assert meaning(f"echo '{words} && pytest'").kind is Kind.OTHER
    assert meaning(f"cd d && pytest -k '{words}' | tail -3").kind is Kind.TEST


def test_time_grows_with_the_text_and_not_faster() -> None:
    """Hostile nesting is cut by the parser's patterns, which never go back."""
    for hostile in (
        "(" * 20_000,
        "$(" * 10_000,
        '"$(' * 8_000,
        "`" * 20_001,
        "<<A " * 5_000,
        "a=" * 9_000,
        "\\" * 30_001,
    ):
        assert meaning(hostile).kind in Kind
