"""Settings: what may stand in the file, where values come from, and how an archive is registered in it."""

from __future__ import annotations

import os
import string
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retro import config, toml_text
from retro.config import ConfigError, Settings, load, register_root
from retro.failure import Failure


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def loaded(file: Path, text: str, env: dict[str, str] | None = None) -> Settings:
    file.write_text(text, encoding="utf-8")
    return load(str(file), env or {})


FULL = """\
# mine
[archive]
root = "~/archive"
registered = ["~/a/rollout-memory"]

[hosts.claude]
sources = [
  "~/old/.claude",  # an old laptop's
  "~/more",
]

[hosts.codex]
enabled = false

[ignore]
projects = ["secret-*"]

[domains]
"github.com/me/*" = "private"
"github.com/work/tool" = "work"

[sweep]
workers = 2
lock_wait_seconds = 1.5
"""


# --- values and origins ----------------------------------------------------------------------------------------------


def test_every_setting_is_read(file: Path, isolated: Path) -> None:
    settings = loaded(file, FULL)
    assert settings.archive_root == str(isolated / "archive")
    assert settings.registered == (str(isolated / "a/rollout-memory"),)
    assert settings.host("claude").sources == (str(isolated / "old/.claude"), str(isolated / "more"))
    assert (settings.host("claude").enabled, settings.host("codex").enabled) == (True, False)
    assert settings.ignored_projects == ("secret-*",)
    assert settings.domains == {"github.com/me/*": "private", "github.com/work/tool": "work"}
    assert (settings.sweep_workers, settings.lock_wait_seconds) == (2, 1.5)
    assert settings.warnings == ()


def test_without_a_file_everything_is_default(isolated: Path) -> None:
    settings = load(None, {"RETRO_CONFIG": str(isolated / "none.toml")})
    assert {origin for _, _, origin in settings.explain()} == {"default"}
    assert (settings.archive_root, settings.registered, settings.sweep_workers) == (None, (), 0)
    assert settings.host("claude").enabled
    assert settings.host("claude").sources == ()
    assert not settings.ignored("/x", "github.com/o/n")
    assert settings.domain("github.com/o/n") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("1", 1), ("20 GB", 20_000_000_000), ("512 MiB", 512 << 20), ("1.5k", 1500), ("3 TiB", 3 << 40), ("7 b", 7)],
)
def test_a_size_may_be_a_text(file: Path, text: str, size: int) -> None:
    settings = loaded(file, f'[retention]\nraw_soft_cap_bytes = "{text}"\n')
    assert settings.limit("raw_soft_cap_bytes") == size


@pytest.mark.parametrize("value", ['"much"', '""', '"-1"', "0", "-5", "true", "1.5", '"1 PB"', '"inf"', '"nan GB"'])
def test_what_is_no_size_is_refused(file: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="raw_soft_cap_bytes must be a number of bytes"):
        loaded(file, f"[retention]\nraw_soft_cap_bytes = {value}\n")


def test_every_value_knows_its_line(file: Path) -> None:
    settings = loaded(file, FULL)
    named = {key: origin.removeprefix(f"{file}:") for key, _, origin in settings.explain() if origin != "default"}
    assert named == {
        "archive.root": "3",
        "archive.registered": "4",
        "hosts.claude.sources": "7",
        "hosts.codex.enabled": "13",
        "ignore.projects": "16",
        "domains.github.com/me/*": "19",
        "domains.github.com/work/tool": "20",
        "sweep.workers": "23",
        "sweep.lock_wait_seconds": "24",
    }
    assert settings.origin("sweep.workers") == f"{file}:23"
    assert settings.origin("no.such") == "default"


def test_the_environment_and_the_option_come_before_the_file(file: Path, tmp_path: Path) -> None:
    env = {"RETRO_ROOT": str(tmp_path / "env")}
    settings = loaded(file, FULL, env)
    assert (settings.archive_root, settings.origin("archive.root")) == (str(tmp_path / "env"), "env:RETRO_ROOT")
    settings = load(str(file), env, root=str(tmp_path / "option"))
    assert (settings.archive_root, settings.origin("archive.root")) == (str(tmp_path / "option"), "option")


def test_the_file_is_the_option_then_the_environment_then_the_users_folder(isolated: Path) -> None:
    env = {"RETRO_CONFIG": str(isolated / "env.toml")}
    assert config.config_path(str(isolated / "option.toml"), env) == str(isolated / "option.toml")
    assert config.config_path(None, env) == str(isolated / "env.toml")
    default = config.config_path(None, {**os.environ, "RETRO_CONFIG": ""})
    assert default.startswith(str(isolated))
    assert default.endswith(os.path.join("retro", "config.toml"))


def test_nothing_is_read_from_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("config.toml", ".config/retro/config.toml", "retro/config.toml", "rollout-memory/config.toml"):
        (tmp_path / "here" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "here" / name).write_text("[sweep]\nworkers = 9\n")
    monkeypatch.chdir(tmp_path / "here")
    for variable in ("XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(variable, "" if variable.startswith("XDG") else str(tmp_path / "home"))
        assert load(None, {**os.environ, "RETRO_CONFIG": "", "XDG_CONFIG_HOME": "."}).sweep_workers == 0


# --- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("[sweep]\n\nworkers = 'four'\n", 3, 'sweep.workers must be a whole number from 0 to 64, not "four"'),
        ("[sweep]\nworkers = true\n", 2, "sweep.workers must be a whole number from 0 to 64, not true"),
        ("sweep.workers = -1\n", 1, "sweep.workers must be a whole number from 0 to 64, not -1"),
        ("[sweep]\nlock_wait_seconds = nan\n", 2, "sweep.lock_wait_seconds must be a number from 0 to 3600, not NaN"),
        ("sweep = 3\n", 1, "sweep must be a section, [sweep], not 3"),
        ("[[sweep]]\nworkers = 3\n", 1, 'sweep must be a section, [sweep], not [{"workers": 3}]'),
        (
            "# x\n[archive]\nroot = 'rel'\n",
            3,
            'archive.root must be a path that is absolute or begins with "~", not "rel"',
        ),
        ("[archive]\nroot = ''\n", 2, 'archive.root must be a path that is absolute or begins with "~", not ""'),
        ("archive = {root = 1}", 1, 'archive.root must be a path that is absolute or begins with "~", not 1'),
        ("[hosts]\nclaude = 1\n", 2, "hosts.claude must be a section, [hosts.claude], not 1"),
        ("[hosts.claude]\nenabled = 1\n", 2, "hosts.claude.enabled must be true or false, not 1"),
        ("[ignore]\nprojects = 'x'\n", 2, 'ignore.projects must be a list of texts that are not empty, not "x"'),
        ("[ignore]\nprojects = [\n 'a',\n '']\n", 2, "ignore.projects must be a list of texts that are not empty"),
        ("[domains]\n'a.b/c' = 1\n", 2, "domains.a.b/c must be a text that is not empty, not 1"),
        ("[sweep\n", 1, "not valid TOML"),
        ("[sweep]\nworkers = 1\nworkers = 2\n", 3, "not valid TOML"),
        ("a = '''\n\n", 3, "not valid TOML"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(file: Path, text: str, line: int, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(file, text)
    assert (caught.value.file, caught.value.line, caught.value.exit_code) == (str(file), line, 2)
    assert caught.value.message.startswith(f"{file}:{line}: {problem}")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"x = '\xff'\n", "config.toml:1: not UTF-8"),
        (b"# " + b"x" * config.FILE_LIMIT, "larger than 1 MiB"),
        (b"x = " + b"[" * 100_000, "not valid TOML"),
        (b"\0\0\0", "config.toml:1: not valid TOML"),
    ],
)
def test_a_file_that_is_no_settings_file_is_refused(file: Path, data: bytes, problem: str) -> None:
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=problem):
        load(str(file), {})


def test_a_named_file_must_exist_and_be_a_file(file: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load(str(file), {})
    with pytest.raises(ConfigError, match="cannot be read"):
        load(str(tmp_path), {})


def test_unknown_settings_are_named_with_what_was_meant(file: Path) -> None:
    file.write_text("[sweep]\nworker = 1\nworkers = 3\n[hosts.cluade]\nx = 1\n[swoop]\n[hosts.claude]\nzz = 1\n")
    settings = load(str(file), {}, hosts=("claude", "codex"))
    assert settings.sweep_workers == 3
    assert settings.warnings == (
        f'{file}:2: unknown setting sweep.worker; did you mean "workers"?',
        f'{file}:4: unknown setting hosts.cluade; did you mean "claude"?',
        f"{file}:8: unknown setting hosts.claude.zz",
        f'{file}:6: unknown setting swoop; did you mean "sweep"?',
    )


def test_marks_and_line_ends_of_windows_are_fine(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf[sweep]\r\n\r\nworkers = 3\r\n")
    settings = load(str(file), {})
    assert (settings.sweep_workers, settings.origin("sweep.workers")) == (3, f"{file}:3")


# --- matching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "cwd", "repository", "expected"),
    [
        ("/work/secret", "/work/secret", None, True),
        ("/work/secret/", "/work/secret/deep/er", None, True),
        ("/work/secret", "/work/secrets", None, False),
        ("/work/secret", "/work/x/../secret/y", None, True),
        ("/work/*-private", "/work/a-private/src", None, True),
        ("/work/*-private", "/work/a-public/src", None, False),
        ("/", "/anything", None, True),
        ("~/tax", "HOME/tax/2026", None, True),
        ("C:\\Work\\Secret", "c:\\work\\secret\\src", None, True),
        ("C:/Work/Secret", "C:\\work\\other", None, False),
        ("/work", None, "github.com/work/x", False),
        ("secret", "/home/me/secret", None, True),
        ("secret", "/home/me/secret/src", None, False),
        ("secret", None, "github.com/me/Secret", True),
        ("me/*", None, "github.com/Me/thing", True),
        ("github.com/me/*", "/x", "github.com/me/thing", True),
        ("github.com/me/*", "/x", "gitlab.com/me/thing", False),
        ("*", "/x/y", None, True),
        ("*", None, None, False),
    ],
)
def test_ignored_projects(
    pattern: str, cwd: str | None, repository: str | None, expected: bool, isolated: Path
) -> None:
    home = str(isolated).replace("\\", "/")
    settings = Settings("f", {("ignore", "projects"): (pattern,)})
    assert settings.ignored(cwd.replace("HOME", home) if cwd else None, repository) is expected


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("github.com/work/tool", "exact"),
        ("GitHub.com/Work/Tool", "exact"),
        ("github.com/work/tool-2", "prefix"),
        ("github.com/work/x", "owner"),
        ("gitlab.com/a/b", "any"),
        (None, None),
        ("", None),
    ],
)
def test_the_most_specific_domain_counts(file: Path, repository: str | None, expected: str | None) -> None:
    text = '[domains]\n"*" = "any"\n"github.com/work/*" = "owner"\n"github.com/work/tool*" = "prefix"\n'
    settings = loaded(file, text + '"github.com/work/tool" = "exact"\n')
    assert settings.domain(repository) == expected


# --- registering -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '[archive]\nregistered = ["/r"]\n'),
        ("# mine", '# mine\n\n[archive]\nregistered = ["/r"]\n'),
        ("[sweep]\nworkers = 1\n", '[sweep]\nworkers = 1\n\n[archive]\nregistered = ["/r"]\n'),
        ("[archive]\n# x\nroot = '/a'\n", "[archive]\nregistered = [\"/r\"]\n# x\nroot = '/a'\n"),
        ("[archive] # x\r\n", '[archive] # x\r\nregistered = ["/r"]\r\n'),
        ("[archive]\nregistered = []\n[sweep]\n", '[archive]\nregistered = ["/r"]\n[sweep]\n'),
        ("[archive]\nregistered = ['/a'] # [b]\n", "[archive]\nregistered = ['/a', \"/r\"] # [b]\n"),
        ("archive.registered = ['/a',]\n", "archive.registered = ['/a',\"/r\"]\n"),
        ("archive = { registered = ['/]'] }\n", "archive = { registered = ['/]', \"/r\"] }\n"),
        (
            "[archive]\nregistered = [\n  '/a', # one ]\n]\nroot='/x'\n",
            "[archive]\nregistered = [\n  '/a', # one ]\n  \"/r\",\n]\nroot='/x'\n",
        ),
        (
            "[archive]\nregistered = [\n  '/a' # one\n]\n",
            "[archive]\nregistered = [\n  '/a' # one\n  , \"/r\"\n]\n",
        ),
    ],
)
def test_an_archive_is_registered_and_all_else_stays(file: Path, before: str, after: str) -> None:
    file.write_bytes(before.encode())
    assert register_root("/r", str(file)) is True
    assert file.read_bytes().decode() == after
    assert register_root("/r", str(file)) is False
    assert file.read_bytes().decode() == after


def test_a_file_that_cannot_be_changed_safely_is_left_alone(file: Path) -> None:
    for text in ("archive = { root = '/x' }\n", "archive = 3\n", "[archive]\nregistered = 3\n", "[archive\n"):
        file.write_text(text)
        with pytest.raises(ConfigError):
            register_root("/r", str(file))
        assert file.read_text() == text


def test_the_settings_file_is_made_private_with_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "new/config.toml"
    register_root("/r", str(file))
    assert toml_text.parse(file.read_text()) == {"archive": {"registered": ["/r"]}}
    if os.name == "posix":
        assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_settings_file_that_is_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    (tmp_path / "config.toml").symlink_to("dotfiles.toml")
    register_root("/r", str(tmp_path / "config.toml"))
    assert (tmp_path / "config.toml").is_symlink()
    assert "/r" in (tmp_path / "dotfiles.toml").read_text()


def test_a_name_that_toml_cannot_hold_is_refused(file: Path) -> None:
    with pytest.raises(Failure, match="cannot be written"):
        register_root("/\udcff", str(file))
    assert not file.exists()


names = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=20)


@given(st.lists(names, unique=True, max_size=5))
def test_any_name_is_registered_once_and_read_back(tmp_path_factory: pytest.TempPathFactory, roots: list[str]) -> None:
    file = tmp_path_factory.mktemp("c") / "config.toml"
    for root in [*roots, *roots]:
        register_root("/" + root, str(file))
    registered = toml_text.parse(file.read_bytes().decode()) if roots else {"archive": {"registered": []}}
    assert registered == {"archive": {"registered": ["/" + root for root in roots]}}


@given(st.lists(st.tuples(st.sampled_from(string.ascii_lowercase), st.text("ab]#\"' \n", max_size=8)), max_size=6))
def test_the_line_of_every_key_is_found(pairs: list[tuple[str, str]]) -> None:
    lines: list[str] = []
    expected: dict[tuple[str, ...], int] = {}
    for number, (key, value) in enumerate(pairs):
        path = (f"t{number}", key)
        lines += [f"[{path[0]}] # [x]", "# y = 1", ""]
        expected[path[:1]], expected[path] = len(lines) - 2, len(lines) + 1
        lines += f"{key} = [ # ]\n {toml_text.quoted(value)},\n]".split("\n")
    assert toml_text.key_lines("\n".join(lines)) == expected


# --- what it costs ---------------------------------------------------------------------------------------------------


def test_settings_of_a_machine_without_a_file_load_almost_nothing(isolated: Path) -> None:
    code = "import sys, os; from retro import config; config.load(None, os.environ).ignored('/x', 'h/o/n'); "
    code += (
        "print(*(set(sys.modules) & {'tomllib', 'tomli', 'platformdirs', 'msgspec', 're', 'typing', 'dataclasses'}))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=_plain_env()
    )
    if sys.platform in ("linux", "darwin"):
        assert done.stdout == "\n"


def _plain_env() -> dict[str, str]:
    source = str(Path(config.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": source}
