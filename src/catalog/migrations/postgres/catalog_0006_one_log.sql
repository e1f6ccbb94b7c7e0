-- Rows with the tag 0 lack what followers need, so the log begins anew after them.
DELETE FROM change_log WHERE position <= (SELECT max(position) FROM change_log WHERE tag = 0);
