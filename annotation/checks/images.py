"""Checks of the images.

PURE: imports no Django and opens no image.
"""

from collections.abc import Iterator

from annotation.checks.base import Check, CheckContext, Finding, register


@register
class ImageDescription(Check):
    code = "image_description"
    title = "Image without alternative text, credit or licence"
    why = "People who cannot see it need the text, and nobody may publish a picture without knowing whose it is."
    how_to_mend = "Say in a sentence what is to be seen, who made it, and under which licence it may be shown."
    level = "warning"
    section = "images"
    about = ("sha256", "url")

    def run(self, context: CheckContext) -> Iterator[Finding]:
        for image in context.document.images:
            fields = {"alternative text": image.alt, "credit": image.credit, "licence": image.license}
            if missing := ", ".join(name for name, text in fields.items() if not text.strip()):
                template = "Image {key} lacks: {missing}."
                yield self.finding(context, image.key, template, part=missing, key=image.key, missing=missing)


@register
class ImageNotStored(Check):
    code = "image_not_stored"
    title = "Image is not stored here"
    why = "A picture that is only an address may change or vanish, and cannot be sent to a system."
    how_to_mend = "Fetch it, or upload the file."
    level = "warning"
    section = "images"
    about = ("sha256", "url")

    def run(self, context: CheckContext) -> Iterator[Finding]:
        stored = context.stored_images
        for image in context.document.images:
            if not image.sha256:
                yield self.finding(context, image.key, "Image {key} was not stored yet.", key=image.key)
            elif stored is not None and image.sha256 not in stored:
                yield self.finding(context, image.key, "The file of image {key} is missing here.", key=image.key)


@register
class NoQuestionImage(Check):
    code = "no_question_image"
    title = "No image belongs to the question"
    why = "An item asks about a picture; without one, runs with and without image are the same."
    how_to_mend = "Add the picture and give it the role question."
    level = "warning"
    section = "images"

    def run(self, context: CheckContext) -> Iterator[Finding]:
        images = context.document.images
        if not any(image.role == "question" for image in images):
            template = "None of the images, {images} in number, has the role question."
            yield self.finding(context, "images", template, images=len(images))
