-- The nodes of the cluster that are alive, each by the address under which the others reach it. `last_heartbeat` is by
-- the database's clock; a node whose last one is older than a lease is left out. Which node has which shard is held as
-- advisory locks. The columns are those that effect/cluster reads and writes.
CREATE TABLE IF NOT EXISTS cluster_runners (
  machine_id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  address text NOT NULL UNIQUE,
  runner text NOT NULL,
  healthy boolean NOT NULL DEFAULT true,
  last_heartbeat timestamptz NOT NULL DEFAULT now()
);
