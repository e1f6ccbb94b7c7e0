-- Under which address a prompt counts for the bounds per address. It is forgotten after a day.

ALTER TABLE prompts ADD COLUMN address TEXT;

CREATE INDEX prompts_by_address ON prompts (address, created_at, req_id) WHERE address IS NOT NULL;
