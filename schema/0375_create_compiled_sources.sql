-- HTML of MJML sources, compiled when a variant was saved. Variants have the sources; each node reads the HTML with them.
CREATE TABLE IF NOT EXISTS compiled_sources (
  org_slug text NOT NULL REFERENCES organizations(slug),
  -- SHA-256 of the source in UTF-8.
  digest bytea NOT NULL,
  -- With Liquid, which is rendered for each request.
  html text NOT NULL,
  -- When the source was last checked. Rows without a variant or an open proposal are deleted a day later.
  checked_at timestamp with time zone NOT NULL,
  PRIMARY KEY (org_slug, digest)
);
