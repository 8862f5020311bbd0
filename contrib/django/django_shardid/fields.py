"""The field of a column whose default generates the id."""
from __future__ import annotations

from typing import Any

from django.db import NotSupportedError, models

NEXT_ID = 'ids.next_id()'


class ShardIdField(models.BigAutoField):
    """A primary key whose default, an SQL expression, is in the database (None: a trigger generates it). As with
    BigAutoField, an INSERT leaves the column out and reads the id back by RETURNING, and no form has it."""

    def __init__(self, *args: Any, expression: str | None = NEXT_ID, **kwargs: Any) -> None:
        self.expression = expression
        kwargs.setdefault('primary_key', True)
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        if self.expression != NEXT_ID:
            kwargs['expression'] = self.expression
        return name, 'django_shardid.ShardIdField', args, kwargs

    def get_internal_type(self) -> str:
        """The type of the column: without a sequence of its own, as BigAutoField would give it."""
        return 'BigIntegerField'

    def db_parameters(self, connection: Any) -> Any:
        """The default is a part of the type: PostgreSQL refuses to alter a column to it by AlterField."""
        if connection.vendor != 'postgresql':
            raise NotSupportedError('ShardIdField needs PostgreSQL')
        parameters = super().db_parameters(connection)
        parameters['type'] += f' DEFAULT {self.expression or "NULL"} /* altered by AlterToShardId */'
        return parameters
