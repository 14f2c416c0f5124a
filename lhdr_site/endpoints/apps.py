from django.apps import AppConfig


class EndpointsConfig(AppConfig):
    name = "lhdr_site.endpoints"
    label = "endpoints"
