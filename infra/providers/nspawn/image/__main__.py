"""`python -m infra.providers.nspawn.image`: make the base image if it is not there, print where it is."""

from infra.providers.nspawn.image import ensure_image

if __name__ == "__main__":
    print(ensure_image())  # noqa: T201 - its one answer
