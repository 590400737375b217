"""Servers of this part."""

from tests.fixtures import infra_of_a_part

infra = infra_of_a_part()
