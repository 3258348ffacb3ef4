"""The rule table: one row per provider's published token shape."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Final, NamedTuple


class Rule(NamedTuple):
    """One token shape.

    `keywords`: literals of which a text must hold one. `prefixes`: how the token begins, each with a literal first
    character: the prefilter looks for them in runs of word characters, or just before such a run where `behind` is set.
    `pattern`: the whole token, or the group `secret` of it. `entropy`: bits per character that the secret must reach.
    `accept`: a last look at it.
    """

    name: str
    keywords: tuple[str, ...]
    prefixes: tuple[str, ...]
    pattern: re.Pattern[str]
    entropy: float = 2.8
    accept: Callable[[str], bool] | None = None
    behind: bool = False


def entropy(text: str) -> float:
    """Shannon entropy in bits per character, of at most the first 256 characters."""
    text = text[:256]
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def has_digit(text: str) -> bool:
    """Whether random characters stand in it: a word made of letters only is a name."""
    return any(c.isdigit() for c in text)


def _decoded(part: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return b""


def _is_jwt(token: str) -> bool:
    try:
        return isinstance(json.loads(_decoded(token.split(".", 1)[0])), dict)
    except (ValueError, RecursionError):
        return False


def _is_discord(token: str) -> bool:
    return _decoded(token.split(".", 1)[0]).isdigit()


# Only behind letters and digits, before which no token begins: two tokens without anything between them must not hide
# each other until one is masked.
_ALNUM: Final = r"(?![A-Za-z0-9])"


def _row(
    name: str,
    keywords: str,
    prefixes: str,
    body: str,
    floor: float = 2.8,
    accept: Callable[[str], bool] | None = None,
    behind: bool = False,
) -> Rule:
    begins = tuple(prefixes.split())
    pattern = re.compile(f"(?:{'|'.join(begins)}){body}", re.ASCII)
    return Rule(name, tuple(keywords.split()), begins, pattern, floor, accept, behind)


def _behind(
    name: str,
    keywords: str,
    prefixes: str,
    body: str,
    floor: float = 2.8,
    accept: Callable[[str], bool] | None = None,
) -> Rule:
    return _row(name, keywords, prefixes, body, floor, accept, behind=True)


# Every token holds, from its prefix on (or just behind it, for `_behind`), at least RUN_LENGTH characters of [\w-]:
# that is what the prefilter looks for.
RUN_LENGTH: Final = 20

TOKENS: Final[tuple[Rule, ...]] = (
    # Clouds
    _row("aws_access_key_id", "AKIA ASIA ABIA ACCA", "A(?:KIA|SIA|BIA|CCA)", rf"[A-Z0-9]{{16}}{_ALNUM}", 2.5),
    _row("google_api_key", "AIza", "AIza", r"[\w-]{35}"),
    _row("google_oauth_secret", "GOCSPX-", "GOCSPX-", r"[\w-]{20,64}"),
    _behind("google_access_token", "ya29.", r"ya29\. ya29\.[a-z]\.", r"[\w-]{20,2048}"),
    _behind("google_refresh_token", "1//0", r"1//", r"0[\w-]{40,512}", 3.5, has_digit),
    _row("digitalocean_token", "_v1_", "do[opr]_v1_", rf"[0-9a-f]{{64}}{_ALNUM}"),
    _row("databricks_token", "dapi", "dapi", rf"[0-9a-f]{{32}}(?:-\d)?{_ALNUM}"),
    _row("heroku_api_key", "HRKU-", "HRKU-", r"[\w-]{36,80}"),
    _row("fly_token", "fm1 fm2", "fm[12][ar]?_", r"[A-Za-z0-9]{16}[\w+/=,-]{40,8192}"),
    _row("fly_api_token", "fo1_", "fo1_", r"[\w-]{43}", 3.5),
    _row("netlify_token", "nfp_", "nfp_", rf"[A-Za-z0-9]{{36}}{_ALNUM}", 3.5),
    _row("vercel_token", "vck_ vcp_", "vc[kp]_", r"[A-Za-z0-9]{40,64}", 3.5),
    _row("render_api_key", "rnd_", "rnd_", rf"[A-Za-z0-9]{{28,40}}{_ALNUM}", 3.5, has_digit),
    _row("tailscale_key", "tskey-", "tskey-", r"(?:auth|api|client|scim|webhook)-[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,64}"),
    # Code hosts, registries, delivery
    _row("github_token", "ghp_ gho_ ghu_ ghs_ ghr_", "gh[pousr]_", r"[A-Za-z0-9]{36,255}", 3.0),
    _row("github_fine_grained_token", "github_pat_", "github_pat_", r"[A-Za-z0-9_]{36,255}", 3.0),
    _row(
        "gitlab_token",
        "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glsoat- glimt- glagent- gloas- glffct- glwt-",
        "gl(?:pat|dt|rtr?|cbt|ptt|ft|soat|imt|agent|oas|ffct|wt)-",
        r"[\w-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,12})?",
        3.0,
    ),
    _row("npm_token", "npm_", "npm_", rf"[A-Za-z0-9]{{36}}{_ALNUM}", 3.0),
    _row("pypi_token", "pypi-Ag", "pypi-Ag", r"[\w-]{50,1000}"),
    _row("rubygems_token", "rubygems_", "rubygems_", rf"[0-9a-f]{{48}}{_ALNUM}"),
    _row("docker_token", "dckr_", "dckr_(?:pat|oat)_", r"[\w-]{24,64}"),
    _row("atlassian_token", "ATATT3 ATCTT3", "AT[AC]TT3", r"[\w-]{20,}[\w=-]{20,}"),
    _row("bitbucket_app_password", "ATBB", "ATBB", rf"[A-Za-z0-9]{{32}}{_ALNUM}", 3.5),
    _row("postman_api_key", "PMAK-", "PMAK-", rf"[0-9a-f]{{24}}-[0-9a-f]{{34}}{_ALNUM}"),
    _row("buildkite_token", "bkua_", "bkua_", rf"[0-9a-f]{{40}}{_ALNUM}"),
    _row("sonar_token", "sqp_ sqa_ squ_", "sq[pau]_", rf"[0-9a-f]{{40}}{_ALNUM}"),
    _row("pulumi_token", "pul-", "pul-", rf"[0-9a-f]{{40}}{_ALNUM}"),
    _behind("terraform_token", ".atlasv1.", r"\.atlasv1\.", r"[\w-]{50,100}"),
    # Messaging, mail
    _row("slack_token", "xox", "xox[abdeoprs]-", r"[\w-]{15,300}", 2.5, has_digit),
    _row("slack_app_token", "xapp-", "xapp-", r"\d-[A-Z0-9]{6,}-\d{6,}-[A-Za-z0-9]{16,128}"),
    _behind("telegram_bot_token", ":AA", r"[0-9]:", r"(?P<secret>AA[\w-]{33})", 3.5, has_digit),
    Rule(
        "discord_bot_token",
        (".",),
        (r"\.[\w-]{6}\.",),
        re.compile(r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}", re.ASCII),
        3.5,
        _is_discord,
        behind=True,
    ),
    _behind("sendgrid_api_key", "SG.", r"SG\.", r"[\w-]{20,24}\.[\w-]{39,50}", 3.0),
    _row("mailgun_api_key", "key-", "key-", rf"[0-9a-f]{{32}}{_ALNUM}", 3.0),
    _row("brevo_api_key", "xkeysib-", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    _row("resend_api_key", "re_", "re_", rf"[A-Za-z0-9]{{8}}_[A-Za-z0-9]{{20,32}}{_ALNUM}", 3.8, has_digit),
    _row("twilio_api_key", "SK", "SK", rf"[0-9a-f]{{32}}{_ALNUM}", 3.0),
    _row(
        "twilio_auth_token",
        "AC",
        "AC[0-9a-f]{32}",
        rf"\\{{0,3}}[\"']?[:, ]{{1,3}}\\{{0,3}}[\"']?(?P<secret>[0-9a-f]{{32}}){_ALNUM}",
        3.0,
    ),
    # Payment, shops
    _row(
        "stripe_key",
        "_live_ _test_ _prod_",
        "sk_(?:live|test|prod)_ rk_(?:live|test|prod)_",
        r"[A-Za-z0-9]{16,247}",
        3.0,
    ),
    _row("stripe_webhook_secret", "whsec_", "whsec_", r"[A-Za-z0-9]{14}[A-Za-z0-9+/=]{10,100}", 3.0),
    _row("shopify_token", "shp", "shp(?:at|ca|pa|ss)_", rf"[0-9a-fA-F]{{32}}{_ALNUM}"),
    _row("square_token", "sq0", "sq0(?:csp|atp)-", r"[\w-]{22,43}", 3.0),
    # Models
    _row("anthropic_api_key", "sk-ant-", "sk-ant-", r"[\w-]{20,200}", 3.0),
    _row("openrouter_api_key", "sk-or-", "sk-or-", r"(?:v1-)?[0-9a-f]{32,128}"),
    _row("openai_api_key", "sk-", "sk-(?:proj|svcacct|admin|None|service)-", r"[\w-]{20,300}", 3.0),
    _row(
        "openai_legacy_api_key",
        "sk-",
        "sk-",
        rf"(?:[A-Za-z0-9]{{20}}T3BlbkFJ[A-Za-z0-9]{{20}}|[A-Za-z0-9]{{48}}){_ALNUM}",
        3.0,
    ),
    # DeepSeek, Moonshot, DashScope, LiteLLM, Langfuse and others share the prefix.
    _row("sk_api_key", "sk-", "sk-", rf"(?:lf-[0-9a-f-]{{36}}|[A-Za-z0-9]{{20,128}}){_ALNUM}", 3.3, has_digit),
    _row("elevenlabs_api_key", "sk_", "sk_", rf"[0-9a-f]{{48}}{_ALNUM}", 3.0),
    _row("huggingface_token", "hf_ api_org_", "hf_ api_org_", rf"[A-Za-z0-9]{{30,40}}{_ALNUM}", 3.5),
    _row("xai_api_key", "xai-", "xai-", r"[A-Za-z0-9]{60,100}", 3.5),
    _row("groq_api_key", "gsk_", "gsk_", r"[A-Za-z0-9]{40,64}", 3.5),
    _row("perplexity_api_key", "pplx-", "pplx-", r"[A-Za-z0-9]{40,64}", 3.5),
    _row("replicate_token", "r8_", "r8_", rf"[A-Za-z0-9]{{37,40}}{_ALNUM}", 3.5),
    _row("fireworks_api_key", "fw_", "fw_", rf"[A-Za-z0-9]{{22,26}}{_ALNUM}", 3.5, has_digit),
    _row("nvidia_api_key", "nvapi-", "nvapi-", r"[\w-]{60,80}", 3.5),
    _row("cerebras_api_key", "csk-", "csk-", r"[a-z0-9]{48}", 3.5),
    _row("tavily_api_key", "tvly-", "tvly-", r"[\w-]{24,64}", 3.3, has_digit),
    _row("langsmith_api_key", "lsv2_", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    _row("pinecone_api_key", "pcsk_", "pcsk_", r"[A-Za-z0-9_]{50,90}", 3.5),
    # Data, monitoring, productivity
    _row("supabase_token", "sbp_ sb_secret_", "sb(?:p|_secret)_", r"(?:[0-9a-f]{40}|[\w-]{20,64})", 3.0, has_digit),
    _row("planetscale_token", "pscale_", "pscale_(?:tkn|pw|oauth)_", r"(?=[\w.=-]{32})[\w-]{9}[\w.=-]{23,100}", 3.0),
    _row("notion_token", "ntn_ secret_", "ntn_ secret_", rf"[A-Za-z0-9]{{40,50}}{_ALNUM}", 3.8, has_digit),
    _row("linear_api_key", "lin_", "lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,64}", 3.0),
    _row("figma_token", "figd_", "figd_", r"[\w-]{40,64}", 3.5),
    _behind("airtable_token", "pat", r"pat[A-Za-z0-9]{14}\.", r"[0-9a-f]{64}"),
    _row("grafana_token", "glsa_", "glsa_", r"[A-Za-z0-9]{32}_[0-9a-fA-F]{8}"),
    _row("new_relic_key", "NRAK-", "NRAK-", rf"[A-Z0-9]{{27}}{_ALNUM}"),
    _row("sentry_token", "sntrys_ sntryu_", "sntry[su]_", r"(?:eyJ[\w+/=-]{40,600}|[0-9a-f]{64})"),
    _behind(
        "doppler_token",
        "dp.",
        r"dp\.pt\. dp\.ct\. dp\.sa\. dp\.st\. dp\.st\.dev\. dp\.st\.stg\. dp\.st\.prd\.",
        r"[A-Za-z0-9]{40,44}",
        3.5,
    ),
    _behind("vault_token", "hvs. hvb. hvr.", r"hv[sbr]\.", r"[\w-]{24,300}", 3.0),
    _row("onepassword_token", "ops_eyJ", "ops_eyJ", r"[\w-]{200,2000}"),
    _row("age_secret_key", "AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1", rf"[A-Z0-9]{{58}}{_ALNUM}", 3.0),
    # Of any provider
    _row(
        "private_key_base64",
        "LS0tLS1CRUdJTi",
        "LS0tLS1CRUdJTi",
        r"(?:BSU0EgUFJJVkFURSBL|BQUklWQVRFIEtF|BFQyBQUklWQVRFIEtF|BPUEVOU1NIIFBSSVZBVEUgS0|BFTkNSWVBURUQgUFJJVkFURSBL"
        r"|BEU0EgUFJJVkFURSBL|BQR1AgUFJJVkFURSBL)[\w+/=-]{20,}",
    ),
    _row("jwt", "eyJ", "eyJ", r"[\w-]{17,1024}\.[\w-]{2,16384}\.[\w-]{10,1024}", 3.0, _is_jwt),
)
