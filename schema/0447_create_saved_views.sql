-- Filters of lists in the console that members have named.
CREATE TABLE IF NOT EXISTS saved_views (
  org_slug text NOT NULL REFERENCES organizations (slug),
  id text NOT NULL,
  -- templates, deliveries or audit.
  list text NOT NULL,
  name text NOT NULL,
  -- The query of the page of the list, without `?`.
  query text NOT NULL,
  -- The only member who sees the view. NULL: all members see it.
  account_id text REFERENCES accounts (id) ON DELETE CASCADE,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, id)
);
CREATE INDEX IF NOT EXISTS saved_views_by_account ON saved_views (account_id);

-- The view with which a list opens for a member.
CREATE TABLE IF NOT EXISTS start_views (
  org_slug text NOT NULL,
  list text NOT NULL,
  account_id text NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  view_id text NOT NULL,
  PRIMARY KEY (org_slug, list, account_id),
  FOREIGN KEY (org_slug, view_id) REFERENCES saved_views (org_slug, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS start_views_by_account ON start_views (account_id);
CREATE INDEX IF NOT EXISTS start_views_by_view ON start_views (org_slug, view_id);
