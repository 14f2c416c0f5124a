"""Settings of the tests: the real ones, with a data folder that goes away and a quick password hash."""

import atexit
import os
import shutil
import tempfile

_folder = tempfile.mkdtemp(prefix="lhdr-tests-")
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["LHDR_DATA"] = _folder
os.environ.pop("LHDR_ENV", None)
os.environ.pop("CELERY_BROKER_URL", None)
# Playwright's sync API runs an event loop in the test's thread.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

from lhdr_site.settings import *  # noqa: E402, F403
from lhdr_site.settings import DATA, DATABASES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file, not memory: live servers and workers read it from other threads and processes.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA / "test.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = DATABASES["default"]["OPTIONS"]["init_command"].replace(
        "synchronous=NORMAL", "synchronous=OFF"
    )
ALLOWED_HOSTS = ["*"]
# Every test client would read the whole folder of static files at its start.
WHITENOISE_AUTOREFRESH = True
AXES_ENABLED = False
