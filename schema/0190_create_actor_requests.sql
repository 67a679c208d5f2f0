-- Requests to the actor of a template that runs on another node, and their answers. A row lives for seconds, and nothing
-- depends on it: a node that gets no answer goes on with the model that it has.
CREATE UNLOGGED TABLE IF NOT EXISTS actor_requests (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  actor_id text NOT NULL,
  -- JSON.
  request text NOT NULL,
  -- False: no caller waits for an answer, and the row is removed once the request is done.
  is_awaited boolean NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now(),
  answered_at timestamptz,
  -- JSON; null where the answer is that it was done.
  answer text,
  has_failed boolean NOT NULL DEFAULT false
);
