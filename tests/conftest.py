"""What holds for every test: hypothesis's terms, which must not depend on the machine's load."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "trustfloor", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("trustfloor")
