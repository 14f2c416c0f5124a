"""Settings, all from the environment; `docs/settings.md` lists them and a test compares.

Without `LHDR_ENV` the local ones hold: SQLite, file queue, everything under `LHDR_DATA`.
"""

import secrets
from pathlib import Path
from typing import Any

import dj_database_url
import structlog
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from environs import Env

from lhdr_site.shared.address_guard import read_allowed

BASE_DIR = Path(__file__).resolve().parent.parent
env = Env()

ENVIRONMENT = env.str("LHDR_ENV", "local")
if ENVIRONMENT not in ("local", "production"):
    raise ImproperlyConfigured(f"LHDR_ENV is {ENVIRONMENT!r}; set it to 'local' or 'production'.")
PRODUCTION = ENVIRONMENT == "production"
DEBUG = env.str("LHDR_DEBUG", "") in ("1", "true", "yes")

DATA = Path(env.str("LHDR_DATA", "") or BASE_DIR / "var").absolute()
try:
    DATA.mkdir(parents=True, exist_ok=True)
except OSError as error:
    raise ImproperlyConfigured(f"LHDR_DATA is {DATA}: {error.strerror}. Set it to a folder that can be made.") from None


def _local_secret_key() -> str:
    path = DATA / "secret_key"
    try:
        with open(path, "x") as file:  # two processes may start at once: exactly one writes
            path.chmod(0o600)
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text() or secrets.token_urlsafe(50)


SECRET_KEY = env.str("LHDR_SECRET_KEY", "")
ALLOWED_HOSTS: list[str] = env.list("LHDR_HOSTS", [])
if PRODUCTION:
    missing = []
    if not SECRET_KEY:
        missing.append("LHDR_SECRET_KEY (a long random text, the same on every machine)")
    if not ALLOWED_HOSTS:
        missing.append("LHDR_HOSTS (the host names people use, separated by commas)")
    if missing:
        raise ImproperlyConfigured("LHDR_ENV=production needs " + " and ".join(missing) + ". See docs/settings.md.")
else:
    SECRET_KEY = SECRET_KEY or _local_secret_key()
    ALLOWED_HOSTS = ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]"]

PUBLIC_URL = env.str("LHDR_PUBLIC_URL", "").rstrip("/")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL] if PUBLIC_URL else []
# The address that mail leads to; without a public one the first host, or this machine.
_own_url = f"https://{ALLOWED_HOSTS[0].lstrip('.')}" if PRODUCTION else f"http://localhost:{env.str('PORT', '8000')}"
SITE_URL = PUBLIC_URL or _own_url

INSTALLED_APPS = [
    "lhdr_site.apps.SiteConfig",
    "lhdr_site.shared.apps.SharedConfig",
    "lhdr_site.endpoints.apps.EndpointsConfig",
    "annotation.apps.AnnotationConfig",
    "audit.apps.AuditConfig",
    "evaluation.apps.EvaluationConfig",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "axes",
    "csp",
    "django_htmx",
    "django_structlog",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "lhdr_site.shared.middleware.HealthMiddleware",
    "lhdr_site.shared.middleware.CleanCookiesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "lhdr_site.shared.middleware.CleanInputMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "axes.middleware.AxesMiddleware",
    "lhdr_site.shared.middleware.DomainErrorMiddleware",
]

ROOT_URLCONF = "lhdr_site.urls"
WSGI_APPLICATION = "lhdr_site.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation.context.workbench",
            ]
        },
    }
]

# --- data ---------------------------------------------------------------------------------------------------------

try:
    _database = dj_database_url.parse(env.str("DATABASE_URL", "") or f"sqlite:///{DATA / 'lhdr.sqlite3'}")
except ValueError:
    raise ImproperlyConfigured("DATABASE_URL cannot be read; write postgres://user:password@host:5432/name.") from None
DATABASES = {"default": _database}
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # recursive_triggers: the guards must also see the DELETE inside an INSERT OR REPLACE
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA recursive_triggers=ON;"
        "PRAGMA mmap_size=134217728; PRAGMA journal_size_limit=27103364; PRAGMA cache_size=2000;",
    }
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 60
    DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

MEDIA_ROOT = DATA / "media"
S3_BUCKET = env.str("LHDR_S3_BUCKET", "")
STORAGES = {
    "default": {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": {"bucket_name": S3_BUCKET}}
    if S3_BUCKET
    else {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
        if PRODUCTION
        else "django.contrib.staticfiles.storage.StaticFilesStorage"
    },
}
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles" if PRODUCTION else None
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = not PRODUCTION

UPLOAD_MAX_MB = env.int("LHDR_UPLOAD_MAX_MB", 20)
IMAGE_MAX_MEGAPIXELS = env.int("LHDR_IMAGE_MAX_MEGAPIXELS", 50)
try:
    FETCH_ALLOW = read_allowed(env.list("LHDR_FETCH_ALLOW", []))
except ValueError as error:
    raise ImproperlyConfigured(f"LHDR_FETCH_ALLOW: {error}. Write addresses or networks, like 10.1.2.0/24.") from None
LINK_AGENT = env.str("LHDR_LINK_AGENT", "")
LINK_PAUSE = env.float("LHDR_LINK_PAUSE", 2)
LINK_SECONDS = env.float("LHDR_LINK_SECONDS", 40)
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

# --- queue --------------------------------------------------------------------------------------------------------

BROKER_URL = env.str("CELERY_BROKER_URL", "")
CELERY_BROKER_URL = BROKER_URL or "lhdrfile://localhost"
if not BROKER_URL:
    QUEUE_FOLDER = DATA / "queue"
    QUEUE_FOLDER.mkdir(exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(QUEUE_FOLDER),
        "data_folder_out": str(QUEUE_FOLDER),
        "control_folder": str(DATA / "queue-control"),
        "polling_interval": 0.05,
    }
elif BROKER_URL.startswith("redis"):
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 3 * 3600,  # longer than the longest task
        "unacked_restore_interval": 2,
        "unacked_restore_throttle": 1,
        # nobody's page waits long for a queue that is down
        "connect_retries_timeout": 1,
        "interval_start": 0.1,
        "interval_max": 0.5,
    }
else:
    CELERY_BROKER_TRANSPORT_OPTIONS = {"connect_retries_timeout": 1}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# After a queue that was down a worker takes as much as before: it holds wake-ups, and the database counts the calls.
CELERY_WORKER_ENABLE_PREFETCH_COUNT_REDUCTION = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TASK_DEFAULT_QUEUE = "lhdr"
CELERY_BEAT_SCHEDULE = {
    "sweep-runs": {"task": "evaluation.sweep_runs", "schedule": 5.0, "options": {"expires": 5}},
    "sweep-presences": {"task": "annotation.sweep_presences", "schedule": 600.0, "options": {"expires": 600}},
    "sweep-checks": {"task": "annotation.sweep_checks", "schedule": 30.0, "options": {"expires": 30}},
    "sweep-fetches": {"task": "annotation.sweep_fetches", "schedule": 60.0, "options": {"expires": 60}},
    "sweep-links": {"task": "audit.sweep_links", "schedule": 60.0, "options": {"expires": 60}},
    "recheck-links": {"task": "audit.recheck_links", "schedule": 3600.0, "options": {"expires": 3600}},
    "send-mails": {"task": "annotation.send_mails", "schedule": 10.0, "options": {"expires": 10}},
}
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA / "beat-schedule")
WEB_PROCESSES = env.int("LHDR_WEB_PROCESSES", 2)
WORKER_THREADS = env.int("LHDR_WORKER_THREADS", 16)
LEASE_SECONDS = env.int("LHDR_LEASE_SECONDS", 60)
DEMO_PORT = env.int("LHDR_DEMO_PORT", 8899)

# --- mail ---------------------------------------------------------------------------------------------------------

EMAIL_HOST = env.str("LHDR_SMTP_HOST", "")
EMAIL_PORT = env.int("LHDR_SMTP_PORT", 587)
EMAIL_HOST_USER = env.str("LHDR_SMTP_USER", "")
EMAIL_HOST_PASSWORD = env.str("LHDR_SMTP_PASSWORD", "")
_security = env.str("LHDR_SMTP_SECURITY", "starttls")
if _security not in ("starttls", "tls", "none"):
    raise ImproperlyConfigured(f"LHDR_SMTP_SECURITY is {_security!r}; set it to 'starttls', 'tls' or 'none'.")
EMAIL_USE_TLS = _security == "starttls"
EMAIL_USE_SSL = _security == "tls"
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL = env.str("LHDR_MAIL_FROM", "LHDR Workbench <lhdr@localhost>")
# Without a mail server the worker prints the mail.
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"

# --- people and protection ----------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
AXES_FAILURE_LIMIT = env.int("LHDR_LOGIN_ATTEMPTS", 10)
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "429.html"
AXES_ENABLE_ADMIN = False
AXES_USERNAME_CALLABLE = "lhdr_site.shared.authentication.recorded_name"
AXES_VERBOSE = False
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "annotation:home"
LOGOUT_REDIRECT_URL = "login"

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
if PRODUCTION:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_SSL_REDIRECT = env.str("LHDR_PLAIN_HTTP", "") not in ("1", "true", "yes")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT
    SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
    SECURE_HSTS_SECONDS = 3600 if SECURE_SSL_REDIRECT else 0
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:", "blob:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
    }
}

# --- language and time --------------------------------------------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_I18N = len(LANGUAGES) > 1  # looking words up in no catalogue takes an eighth of a page
USE_TZ = True
TIME_ZONE = env.str("LHDR_TIME_ZONE", "UTC")
FORMAT_MODULE_PATH = ["lhdr_site.formats"]

# --- API ----------------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "lhdr_site.shared.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["lhdr_site.shared.drf.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "lhdr_site.shared.drf.exception_handler",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "LHDR Workbench",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "WorkStatusEnum": "evaluation.models.Work.Status",  # several things have a status
        "ConditionEnum": "evaluation.models.Condition.values",  # of one, and of a list
    },
}

# --- logs ---------------------------------------------------------------------------------------------------------

LOG_LEVEL = env.str("LHDR_LOG_LEVEL", "INFO" if PRODUCTION else "WARNING")
_shared_processors: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer() if PRODUCTION else structlog.dev.ConsoleRenderer(colors=False),
            ],
            "foreign_pre_chain": _shared_processors,
        }
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_shared_processors,
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
