-- Opens and clicks that the service measures by itself in the messages that it sends: of an organization, and of a template
-- that differs from it (null: as the organization). `url`: where the links of the organization begin; null: TRACKING_URL.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS tracking jsonb NOT NULL
  DEFAULT '{"opens": false, "clicks": false, "url": null}';
ALTER TABLE templates ADD COLUMN IF NOT EXISTS tracking jsonb;
-- Texts of the unsubscribe page; null: those of the service.
ALTER TABLE organizations ADD COLUMN IF NOT EXISTS unsubscribe_page jsonb;
-- Whether messages of the template carry the headers List-Unsubscribe and List-Unsubscribe-Post.
ALTER TABLE templates ADD COLUMN IF NOT EXISTS list_unsubscribe boolean NOT NULL DEFAULT false;
