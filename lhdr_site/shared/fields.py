"""Form fields for what Django's own would pass on to the database unread."""

from typing import Any

from django import forms

from .numbers import read_whole


class ManyField(forms.ModelMultipleChoiceField):
    """Rows by their keys. A number that no database can look for is no choice, not an error of ours."""

    def clean(self, value: Any) -> Any:
        for key in value if isinstance(value, list | tuple) else ():
            if read_whole(str(key)) is None:
                message = self.error_messages["invalid_pk_value"]
                raise forms.ValidationError(message, code="invalid_pk_value", params={"pk": str(key)[:40]})
        return super().clean(value)
