-- The S3-compatible bucket of an organization, which receives exports and may hold files with attributes of people.
CREATE TABLE IF NOT EXISTS buckets (
  org_slug text NOT NULL PRIMARY KEY REFERENCES organizations (slug),
  -- URL of the service. NULL: AWS.
  endpoint text,
  region text NOT NULL,
  name text NOT NULL,
  folder text NOT NULL,
  access_key_id text NOT NULL,
  -- The secret of the access key, encrypted.
  sealed text NOT NULL,
  is_active boolean NOT NULL,
  -- Folder of files with attributes. NULL: none are read.
  attributes_folder text,
  -- By export: the cursor of the next object, the number of objects and rows, and until when all rows are written.
  positions json NOT NULL DEFAULT '{}',
  -- Time of the next run, or the end of the lease of the node that runs it.
  due_at timestamptz NOT NULL,
  -- Failed runs since the last complete one.
  failures int NOT NULL DEFAULT 0,
  succeeded_at timestamptz,
  -- Why the last run failed. NULL after a complete one.
  problem text
);
CREATE INDEX IF NOT EXISTS buckets_due ON buckets (due_at);
-- The files with attributes that were read, so that each version of a file is read once.
CREATE TABLE IF NOT EXISTS bucket_objects (
  org_slug text NOT NULL REFERENCES buckets (org_slug) ON DELETE CASCADE,
  key text NOT NULL,
  etag text NOT NULL,
  read_at timestamptz NOT NULL,
  -- Lines that were taken, and lines that were not, with the faults of the first of them.
  people int NOT NULL,
  faulty int NOT NULL,
  faults json NOT NULL,
  PRIMARY KEY (org_slug, key)
);
