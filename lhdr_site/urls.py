"""All addresses. `/b/<slug>/…` is a benchmark; without membership none of it exists."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_not_required
from django.urls import include, path
from drf_spectacular.views import SpectacularAPIView

from .views import demo_log_ins, help_page

urlpatterns = [
    path("", include("annotation.urls")),
    path("", include("audit.urls")),
    path("", include("evaluation.urls")),
    path(
        "login/",
        login_not_required(auth.LoginView.as_view(redirect_authenticated_user=True, extra_context=demo_log_ins())),
        name="login",
    ),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("password/", auth.PasswordChangeView.as_view(), name="password_change"),
    path("password/done/", auth.PasswordChangeDoneView.as_view(), name="password_change_done"),
    path("help/", help_page, name="help"),
    path("help/<slug:page>/", help_page, name="help"),
    path("admin/", admin.site.urls),
    path("api/", include("annotation.api_urls")),
    path("api/", include("audit.api_urls")),
    path("api/", include("evaluation.api_urls")),
    path("api/schema/", SpectacularAPIView.as_view(), name="api-schema"),
]

handler404 = "lhdr_site.views.not_found"

if settings.DEBUG:
    from .views import gallery

    urlpatterns.append(path("gallery/", gallery, name="gallery"))
