"""What a run assumes of the stack and of the API."""

# Budgets that a run cannot spend. `FANMILL_LIMITS=off` would take the headers away that the document declares.
SETTINGS = {
    "FANMILL_LIMITS": "on", "FANMILL_TRUSTED_PROXIES": "127.0.0.1",
    "FANMILL_PURCHASE_KEY": "the fuzz's own key, of 32 characters or more",
    **{f"FANMILL_LIMIT_{name}": "10000000" for name in (
        "POSTS", "FOLLOWS", "LIKES", "COMMENTS", "LOOKUPS", "SIGN_UPS", "UPLOADS", "UPLOAD_TOKENS")},
    "FANMILL_YOUTUBE_SEARCHES": "10000000", "FANMILL_YOUTUBE_UNITS": "10000000",
    "FANMILL_YOUTUBE_ACCOUNT_PERCENT": "100",
}
# Refusals that write on purpose, by operation or code: all are guesses, which are counted so that they end.
COUNTED = {
    "wrong_credentials": {"public.sign_in_attempts"}, "wrong_password": {"public.sign_in_attempts"},
    "too_many_attempts": {"public.sign_in_attempts"}, "reset_expired": {"public.sign_in_attempts"},
    "confirmation_expired": {"public.sign_in_attempts"}, "wrong_code": {"public.sign_in_attempts"},
    "wrong_passcode": {"public.agreement_backups"}, "backup_destroyed": {"public.agreement_backups"},
    # A token that no operator has, or that no mail had.
    "enqueueJob": {"public.sign_in_attempts"}, "readJob": {"public.sign_in_attempts"},
    "readAutoscaling": {"public.sign_in_attempts"}, "resetPassword": {"public.sign_in_attempts"},
    "fetchExport": {"public.sign_in_attempts"},
    # It counts before anything that would show whether an account has the address.
    "requestPasswordReset": {"public.sign_in_attempts"}, "openAccount": {"public.sign_in_attempts"},
}
# Operations that cannot succeed in this stack.
IMPOSSIBLE = {}
