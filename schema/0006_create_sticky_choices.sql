-- The variant a user keeps getting of a sticky template until `expires_at`.
CREATE TABLE IF NOT EXISTS sticky_choices (
  org_slug text NOT NULL,
  template_id text NOT NULL,
  user_id text NOT NULL,
  copy_id text NOT NULL,
  tracking_id text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (org_slug, template_id, user_id)
);
