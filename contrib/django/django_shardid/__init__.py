"""Primary keys that PostgreSQL's extension shardid generates."""
from .fields import ShardIdField
from .operations import AlterToShardId, CreateGenerator, CreateShardid

__all__ = ['AlterToShardId', 'CreateGenerator', 'CreateShardid', 'ShardIdField']
