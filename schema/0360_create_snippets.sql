-- Blocks of an organization that variants render, such as a footer.
CREATE TABLE IF NOT EXISTS snippets (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  name text NOT NULL,
  text text NOT NULL,
  format text NOT NULL,
  -- Another value after each change, so that caches read only changed snippets.
  revision bigint NOT NULL DEFAULT nextval('template_revisions'),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);

-- The content of snippets after each change, for restoring.
CREATE TABLE IF NOT EXISTS snippet_versions (
  org_slug text NOT NULL,
  snippet_id text NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  name text NOT NULL,
  text text NOT NULL,
  format text NOT NULL,
  -- As in the audit log; null where it is not known.
  author text,
  saved_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, snippet_id, id),
  FOREIGN KEY (org_slug, snippet_id) REFERENCES snippets (org_slug, id) ON DELETE CASCADE
);

-- Changes of snippets in live messages that await approval: at most one of each snippet.
CREATE TABLE IF NOT EXISTS snippet_proposals (
  org_slug text NOT NULL,
  snippet_id text NOT NULL,
  name text NOT NULL,
  text text NOT NULL,
  author text NOT NULL,
  -- Rises with each change of the proposal, so that nobody approves a text that they have not seen.
  version int NOT NULL,
  -- Of the snippet that it changes.
  base_revision bigint NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, snippet_id),
  FOREIGN KEY (org_slug, snippet_id) REFERENCES snippets (org_slug, id) ON DELETE CASCADE
);
