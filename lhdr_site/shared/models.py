"""Rows that belong to the installation."""

from django.db import models


class Heartbeat(models.Model):
    """When a worker last said that it is alive."""

    worker = models.CharField(max_length=200, unique=True)
    beaten = models.DateTimeField()
    keys = models.JSONField(default=list)  # names of the LHDR_KEY_… variables that are set where it runs
