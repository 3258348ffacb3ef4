"""Which program does what: one line a program, in the words of `Kind`."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Kind(str, Enum):
    """What a command is for. Of several in one line the one that stands first here counts."""

    TEST = "test"
    COMMIT = "commit"
    EDIT = "edit"
    INSTALL = "install"
    BUILD = "build"
    CHECK = "check"
    """Linters, type checkers, formatters that only look."""
    FORMAT = "format"
    """Changes how code looks or where it stands, not what it does."""
    RUN = "run"
    """A program of the project's own: a script, an interpreter with code, a server."""
    CHANGE = "change"
    """Version control that changes something, but is no commit."""
    REMOVE = "remove"
    NETWORK = "network"
    CONTAINER = "container"
    FIND = "find"
    READ = "read"
    LIST = "list"
    INSPECT = "inspect"
    """Version control that only looks, versions, processes, the machine."""
    OTHER = "other"


_PROGRAMS: Final = {
    Kind.TEST: (
        "pytest pytest-3 py.test unittest nose nose2 nosetests tox nox stestr trial behave robot lettuce green ward"
        " doctest jest vitest mocha ava tap tape karma jasmine cypress nightwatch testcafe qunit web-test-runner wtr"
        " playwright-test c8 nyc rspec minitest cucumber autotest spec phpunit pest phpspec codecept behat paratest"
        " ctest gtest busted bats prove shellspec shunit2 roundup testament gotestsum ginkgo cargo-nextest elm-test"
        " hspec tasty buster ospec runtests runtests.py run_tests.py run_tests.sh run-tests.sh runtests.sh test.sh"
        " bin/test tests/runtests.py molecule kuttl testinfra locust k6 artillery pytest-watch ptw"
    ),
    Kind.CHECK: (
        "ruff flake8 pylint mypy pyright basedpyright pyre pyflakes pycodestyle pydocstyle bandit vulture ty eslint"
        " tslint jshint oxlint standard xo stylelint tsc vue-tsc svelte-check htmlhint markdownlint markdownlint-cli2"
        " golangci-lint staticcheck govulncheck golint rubocop standardrb sorbet srb brakeman reek phpstan psalm phpcs"
        " phan shellcheck hadolint yamllint ansible-lint actionlint tflint checkov clang-tidy cppcheck cpplint ktlint"
        " detekt checkstyle spotbugs pmd swiftlint credo dialyzer luacheck selene semgrep codespell typos pre-commit"
        " lefthook import-linter lint-imports knip depcheck madge publint attw py_compile compileall hlint nilaway"
        " deptry pip-audit safety trivy sqlfluff vale djlint biome"
    ),
    Kind.FORMAT: (
        "black isort autopep8 yapf prettier gofmt goimports gofumpt rustfmt clang-format shfmt stylua ktfmt"
        " swiftformat scalafmt ormolu fourmolu google-java-format php-cs-fixer pint djhtml taplo pyupgrade autoflake"
        " docformatter standardize rector 2to3 jscodeshift codemod comby"
    ),
    Kind.BUILD: (
        "make gmake cmake ninja meson bazel bazelisk buck buck2 scons gcc g++ cc c++ clang clang++ rustc javac"
        " kotlinc scalac ghc ocamlc ocamlfind swiftc msbuild xbuild xcodebuild webpack rollup esbuild vite parcel tsup"
        " swc babel turbo nx lerna gulp grunt sphinx-build mkdocs sphinx docusaurus hugo jekyll protoc buf flutter"
        " gradle gradlew mvn mvnw ant sbt lein mill pyinstaller nuitka maturin setuptools cython pdflatex latexmk"
        " xelatex pandoc next nuxt astro ng vue-cli-service react-scripts expo electron-builder wasm-pack trunk just"
        " task rake invoke inv doit earthly pants please nuke cake fastlane terraform tofu pulumi packer cdk sam"
        " serverless zig dune stack cabal rebar3 mix gleam nimble crystal shards dotnet cargo go swift forge hardhat"
        " truffle anchor ld ar build typst hatch flit"
    ),
    Kind.INSTALL: (
        "pip pipx apt apt-get aptitude dpkg yum dnf rpm pacman yay paru apk zypper brew port choco scoop winget snap"
        " flatpak conda mamba micromamba gem bundle composer npm pnpm yarn bun uv poetry pipenv pdm rye cpanm cpan"
        " luarocks opam ghcup rustup nvm fnm volta asdf mise pyenv rbenv sdk easy_install nix-env pod carthage vcpkg"
        " conan ensurepip venv virtualenv corepack playwright pixi ansible-galaxy tlmgr"
    ),
    Kind.RUN: (
        "python pypy py ipython jupyter node deno ts-node tsx nodemon ruby irb perl php lua luajit java kotlin scala"
        " groovy julia Rscript R erl elixir iex ghci runghc ocaml racket guile sbcl clojure clj bb tclsh dart flask"
        " uvicorn gunicorn hypercorn daphne streamlit rails puma unicorn django-admin manage.py artisan celery gdb"
        " lldb pdb valgrind perf hyperfine time strace psql mysql sqlite3 mongosh redis-cli cqlsh duckdb bash sh zsh"
        " dash ksh fish pwsh powershell source . cmd osascript expect airflow dbt jbang kscript http-server serve pm2"
        " supervisord alembic flyway liquibase prisma drizzle-kit knex sequelize typeorm"
    ),
    Kind.NETWORK: (
        "curl wget http https httpie xh aria2c ping dig nslookup host traceroute nc ncat telnet ssh scp sftp rsync"
        " ftp whois openssl gh glab hub az aws gcloud gsutil doctl flyctl fly heroku vercel netlify wrangler supabase"
        " firebase grpcurl websocat yt-dlp lynx w3m s3cmd rclone"
    ),
    Kind.CONTAINER: (
        "docker podman nerdctl kubectl k9s helm minikube kind k3d vagrant lxc docker-compose skaffold tilt oc crictl"
    ),
    Kind.FIND: (
        "grep egrep fgrep rg ag ack ripgrep find fd fdfind locate which whereis type ast-grep sg ctags zgrep fzf"
        " mdfind where findstr Select-String"
    ),
    Kind.READ: (
        "cat head tail less more bat batcat nl sed awk gawk mawk jq yq xq dasel tac strings xxd hexdump od base64"
        " zcat bzcat xzcat pdftotext view cut sort uniq tr wc column paste join comm diff cmp colordiff delta difft"
        " Get-Content type csvcut csvlook mlr readelf objdump nm otool exiftool identify ffprobe tee rev fold fmt"
        " iconv"
    ),
    Kind.LIST: (
        "ls dir tree exa eza lsd du stat file realpath readlink Get-ChildItem gci basename dirname pwd namei broot"
    ),
    Kind.REMOVE: ("rm rmdir unlink shred trash del erase Remove-Item rimraf"),
    Kind.CHANGE: ("svn hg jj bzr fossil p4 gt stg"),
    Kind.INSPECT: (
        "ps top htop kill pkill killall lsof ss netstat free df uptime uname whoami id date env printenv hostname"
        " groups locale nproc lscpu lsblk mount sysctl systemctl service journalctl dmesg crontab history man help"
        " info tldr jobs fg bg wait pgrep pstree ulimit umask getent last w who nvidia-smi ldd getconf sw_vers tput"
        " stty tmux screen pidof fuser arch vmstat iostat"
    ),
    Kind.EDIT: ("patch apply_patch applypatch ed ex vi vim nvim nano emacs sponge dos2unix unix2dos crudini"),
    Kind.OTHER: (
        "cd pushd popd echo printf export set unset alias true false : test sleep exit return read local declare"
        " typeset shift trap clear seq yes mkdir touch chmod chown chgrp ln mktemp tar gzip gunzip zip unzip bzip2 xz"
        " zstd 7z cal bc expr let shopt say open xdg-open pbcopy pbpaste xclip clip install"
    ),
}

PROGRAMS: Final[dict[str, Kind]] = {name: kind for kind, names in _PROGRAMS.items() for name in names.split()}
"""What a program is where its arguments do not say otherwise."""

_VERBS: Final[dict[str, dict[Kind, str]]] = {
    "git": {
        Kind.COMMIT: "commit",
        Kind.FIND: "grep",
        Kind.EDIT: "apply am",
        Kind.FORMAT: "mv",
        Kind.REMOVE: "rm clean",
        Kind.NETWORK: "clone fetch pull push ls-remote",
        Kind.READ: "show cat-file blame annotate",
        Kind.INSPECT: "status diff log shortlog reflog branch tag remote config rev-parse rev-list describe ls-files"
        " ls-tree name-rev merge-base show-ref symbolic-ref for-each-ref whatchanged cherry count-objects fsck var"
        " check-ignore check-attr diff-tree diff-index help version range-diff difftool",
        Kind.CHANGE: "add checkout switch restore reset stash merge rebase cherry-pick revert init worktree submodule"
        " bisect filter-branch gc prune update-index update-ref replace notes sparse-checkout lfs mergetool",
    },
    "npm": {
        Kind.TEST: "test t tst it",
        Kind.CHECK: "audit outdated",
        Kind.INSPECT: "ls list view show info config why",
    },
    "cargo": {
        Kind.TEST: "test t nextest bench tarpaulin llvm-cov miri insta",
        Kind.CHECK: "check c clippy audit deny udeps machete",
        Kind.FORMAT: "fmt fix",
        Kind.RUN: "run r",
        Kind.INSTALL: "install add remove update fetch uninstall",
        Kind.INSPECT: "tree metadata search info version",
        Kind.NETWORK: "publish login",
    },
    "go": {
        Kind.TEST: "test",
        Kind.CHECK: "vet",
        Kind.FORMAT: "fmt fix",
        Kind.RUN: "run",
        Kind.INSTALL: "get install mod work",
        Kind.READ: "doc",
        Kind.INSPECT: "version env list",
    },
    "dotnet": {
        Kind.TEST: "test vstest",
        Kind.FORMAT: "format",
        Kind.RUN: "run watch ef",
        Kind.INSTALL: "add restore tool remove nuget workload",
        Kind.INSPECT: "--version --info --list-sdks list",
    },
    "swift": {Kind.TEST: "test", Kind.RUN: "run", Kind.INSPECT: "--version"},
    "deno": {
        Kind.TEST: "test bench coverage",
        Kind.CHECK: "lint check",
        Kind.FORMAT: "fmt",
        Kind.INSTALL: "install add cache",
        Kind.BUILD: "compile bundle",
    },
    "bun": {Kind.TEST: "test", Kind.BUILD: "build", Kind.INSTALL: "install add remove i update link"},
    "ruff": {Kind.FORMAT: "format", Kind.CHECK: "check"},
    "biome": {Kind.FORMAT: "format", Kind.CHECK: "check lint ci"},
    "mix": {
        Kind.TEST: "test",
        Kind.CHECK: "credo dialyzer",
        Kind.FORMAT: "format",
        Kind.INSTALL: "deps.get",
        Kind.RUN: "run phx.server",
    },
    "gleam": {Kind.TEST: "test", Kind.CHECK: "check", Kind.FORMAT: "format", Kind.RUN: "run", Kind.INSTALL: "add deps"},
    "rebar3": {Kind.TEST: "eunit ct proper", Kind.CHECK: "dialyzer xref"},
    "zig": {Kind.TEST: "test", Kind.FORMAT: "fmt", Kind.RUN: "run", Kind.INSPECT: "version env"},
    "dune": {Kind.TEST: "test runtest", Kind.FORMAT: "fmt", Kind.RUN: "exec"},
    "stack": {Kind.TEST: "test", Kind.RUN: "run exec runghc", Kind.INSTALL: "install setup"},
    "cabal": {Kind.TEST: "test v2-test new-test", Kind.RUN: "run exec repl", Kind.INSTALL: "install update"},
    "sbt": {Kind.TEST: "test testOnly testQuick", Kind.RUN: "run"},
    "mill": {Kind.TEST: "test"},
    "lein": {Kind.TEST: "test midje", Kind.RUN: "run repl", Kind.INSTALL: "deps"},
    "crystal": {Kind.TEST: "spec", Kind.RUN: "run eval", Kind.FORMAT: "tool"},
    "nimble": {Kind.TEST: "test", Kind.INSTALL: "install"},
    "meson": {Kind.TEST: "test"},
    "bazel": {Kind.TEST: "test coverage", Kind.RUN: "run", Kind.INSPECT: "query info cquery"},
    "bazelisk": {Kind.TEST: "test coverage", Kind.RUN: "run"},
    "buck2": {Kind.TEST: "test", Kind.RUN: "run"},
    "buck": {Kind.TEST: "test", Kind.RUN: "run"},
    "pants": {Kind.TEST: "test", Kind.CHECK: "lint check", Kind.FORMAT: "fmt fix", Kind.RUN: "run"},
    "please": {Kind.TEST: "test", Kind.RUN: "run"},
    "flutter": {Kind.TEST: "test drive", Kind.CHECK: "analyze", Kind.RUN: "run", Kind.INSTALL: "pub"},
    "dart": {Kind.TEST: "test", Kind.CHECK: "analyze", Kind.FORMAT: "format fix", Kind.INSTALL: "pub"},
    "forge": {Kind.TEST: "test coverage", Kind.FORMAT: "fmt", Kind.RUN: "script", Kind.INSTALL: "install"},
    "hardhat": {Kind.TEST: "test coverage", Kind.RUN: "run node"},
    "truffle": {Kind.TEST: "test"},
    "anchor": {Kind.TEST: "test"},
    "xcodebuild": {Kind.TEST: "test test-without-building"},
    "playwright": {Kind.TEST: "test", Kind.INSTALL: "install install-deps"},
    "cypress": {Kind.TEST: "run open", Kind.INSTALL: "install"},
    "rails": {Kind.TEST: "test test:system test:all spec", Kind.CHANGE: "generate g"},
    "artisan": {Kind.TEST: "test dusk"},
    "manage.py": {Kind.TEST: "test", Kind.CHECK: "check"},
    "django-admin": {Kind.TEST: "test", Kind.CHECK: "check"},
    "setup.py": {
        Kind.TEST: "test pytest",
        Kind.BUILD: "build build_ext sdist bdist_wheel",
        Kind.INSTALL: "install develop",
    },
    "hatch": {Kind.TEST: "test", Kind.BUILD: "build", Kind.FORMAT: "fmt"},
    "ng": {Kind.TEST: "test e2e", Kind.CHECK: "lint", Kind.RUN: "serve", Kind.INSTALL: "add update"},
    "nx": {Kind.TEST: "test e2e", Kind.CHECK: "lint", Kind.RUN: "serve"},
    "turbo": {Kind.TEST: "test", Kind.CHECK: "lint"},
    "react-scripts": {Kind.TEST: "test", Kind.RUN: "start"},
    "vue-cli-service": {Kind.TEST: "test:unit test:e2e", Kind.CHECK: "lint", Kind.RUN: "serve"},
    "vite": {Kind.RUN: "dev serve preview", Kind.TEST: "test"},
    "next": {Kind.RUN: "dev start", Kind.CHECK: "lint"},
    "terraform": {Kind.TEST: "test", Kind.CHECK: "validate plan", Kind.FORMAT: "fmt", Kind.INSTALL: "init"},
    "tofu": {Kind.TEST: "test", Kind.CHECK: "validate plan", Kind.FORMAT: "fmt", Kind.INSTALL: "init"},
    "helm": {Kind.TEST: "test", Kind.CHECK: "lint template"},
    "pip": {Kind.INSPECT: "list show freeze check --version index config", Kind.NETWORK: "download"},
    "uv": {
        Kind.INSPECT: "version --version tree cache",
        Kind.BUILD: "build",
        Kind.NETWORK: "publish",
        Kind.FORMAT: "format",
    },
    "poetry": {Kind.INSPECT: "show check env version config --version", Kind.BUILD: "build", Kind.NETWORK: "publish"},
    "composer": {Kind.TEST: "test phpunit", Kind.CHECK: "validate audit", Kind.INSPECT: "show"},
    "apt": {Kind.INSPECT: "list show search policy"},
    "brew": {Kind.INSPECT: "list info search"},
    "docker": {Kind.INSPECT: "ps images inspect logs version info stats"},
    "make": {
        Kind.TEST: "test tests check unittest unit-test unit-tests integration-test integration-tests e2e spec specs"
        " test-unit test-integration test-all test-fast coverage cov pytest jest",
        Kind.CHECK: "lint typecheck type-check types mypy ruff eslint vet clippy fmt-check format-check analyze tidy",
        Kind.FORMAT: "fmt format",
        Kind.INSTALL: "install deps setup bootstrap dev-deps",
        Kind.RUN: "run serve start dev demo bench benchmark",
        Kind.REMOVE: "clean distclean mrproper",
    },
}

VERBS: Final[dict[str, dict[str, Kind]]] = {
    program: {verb: kind for kind, verbs in kinds.items() for verb in verbs.split()}
    for program, kinds in _VERBS.items()
}
"""What a program does by the first word behind it that is no option."""

for _same in ("gmake", "just", "task", "rake", "invoke", "inv", "doit", "gulp", "grunt", "mage", "earthly"):
    VERBS[_same] = VERBS["make"]
VERBS["apt-get"] = VERBS["apt"]
VERBS["podman"] = VERBS["docker"]

TARGETS: Final[frozenset[str]] = frozenset(
    {"mvn", "mvnw", "gradle", "gradlew", "ant", "ninja", "cmake", "bazel", "sbt", "msbuild", "xcodebuild", "make"}
)
"""Programs that take several targets; any of them may be the tests."""

TEST_TARGETS: Final = frozenset(
    [
        "test",
        "tests",
        "check",
        "verify",
        "integration-test",
        "surefire:test",
        "failsafe:integration-test",
        "connectedAndroidTest",
        "connectedCheck",
        "allTests",
        "jvmTest",
        "testDebugUnitTest",
        "testReleaseUnitTest",
        "integrationTest",
        "RUN_TESTS",
        "e2e",
        "runtest",
    ]
)

SCRIPTS: Final = frozenset(
    [
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "deno",
        "composer",
        "pdm",
        "rye",
        "hatch",
        "poe",
        "npr",
        "mise",
        "moon",
        "lerna",
        "turbo",
        "nx",
        "rush",
    ]
)
"""Programs that run scripts of the project by name."""
