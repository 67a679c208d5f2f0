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
-- Which process has which shard of actors. It is free when nobody has it, or when that process does not live.
CREATE TABLE IF NOT EXISTS cluster_shards (
  shard_id text NOT NULL PRIMARY KEY,
  session text NOT NULL
);
