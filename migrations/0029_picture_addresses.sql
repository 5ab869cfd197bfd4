-- Pictures have addresses that only show pictures: https, and http to the machine itself where an app is developed. A scheme
-- such as javascript: would run in the browser of everybody who sees the account or the post.

-- Browsers load a picture of an encrypted page through https whatever its address says, so that is what is kept.
UPDATE accounts SET avatar = CASE WHEN avatar ~* '^http://[^/]' THEN 'https' || substr(avatar, 5) END
  WHERE avatar !~* '^https://[^/]' AND avatar !~* '^http://(localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[::1\])([:/]|$)';
UPDATE posts SET image = CASE WHEN image ~* '^http://[^/]' THEN 'https' || substr(image, 5) END
  WHERE image !~* '^https://[^/]' AND image !~* '^http://(localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[::1\])([:/]|$)';

ALTER TABLE accounts ADD CONSTRAINT accounts_avatar_address CHECK (avatar ~* '^https?://[^/]');
ALTER TABLE posts ADD CONSTRAINT posts_image_address CHECK (image ~* '^https?://[^/]');

-- down

ALTER TABLE posts DROP CONSTRAINT posts_image_address;
ALTER TABLE accounts DROP CONSTRAINT accounts_avatar_address;
