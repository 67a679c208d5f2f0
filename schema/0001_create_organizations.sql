-- A customer of the installation. `revision` grows with every change of data that nodes keep in memory (the
-- organization itself, its keys, templates, variants). Nodes poll it to find the data to reload.
CREATE TABLE IF NOT EXISTS organizations (
  slug text PRIMARY KEY,
  name text NOT NULL,
  time_zone text NOT NULL DEFAULT 'UTC',
  exploration_floor double precision NOT NULL DEFAULT 0.01,
  revision bigint NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
