-- The nodes of the cluster, each by the address under which the others reach it. `session` names the process, so that one
-- that is started anew under an address is not taken for the one before. A node lives while `seen_at`, by the database's
-- clock, is not older than a lease.
CREATE TABLE IF NOT EXISTS cluster_nodes (
  address text NOT NULL PRIMARY KEY,
  session text NOT NULL,
  machine_id integer GENERATED ALWAYS AS IDENTITY,
  runner text NOT NULL,
  seen_at timestamptz NOT NULL
);
-- The process that has each shard of actors. A shard is free without a process, or when its process is dead.
CREATE TABLE IF NOT EXISTS cluster_shards (
  shard_id text NOT NULL PRIMARY KEY,
  session text NOT NULL
);
