-- The state of a template's actor besides its tallies. `revision` grows with every fold, so that an actor that was
-- overtaken by another notices; `fitted_revision` is that of the published model.
CREATE TABLE IF NOT EXISTS bandit_states (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  revision bigint NOT NULL,
  folded_at timestamptz NOT NULL,
  rolled_up_at timestamptz NOT NULL,
  fitted_revision bigint,
  half_life json,
  contribution json,
  PRIMARY KEY (org_slug, template_id)
);
CREATE SEQUENCE IF NOT EXISTS model_publications;
-- The latest model of each template. `publication` grows with every model published anywhere.
CREATE TABLE IF NOT EXISTS models (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  version bigint NOT NULL,
  publication bigint NOT NULL,
  fitted_at timestamptz NOT NULL,
  snapshot json NOT NULL,
  PRIMARY KEY (org_slug, template_id)
);
CREATE INDEX IF NOT EXISTS models_by_publication ON models (publication);
-- Attributes of a day's requests, counted by one node for a while, from which the learning attributes are chosen.
CREATE TABLE IF NOT EXISTS attribute_counts (
  id bigint GENERATED ALWAYS AS IDENTITY,
  org_slug text NOT NULL,
  template_id text NOT NULL,
  day timestamptz NOT NULL,
  counts json NOT NULL,
  PRIMARY KEY (org_slug, template_id, id)
);
