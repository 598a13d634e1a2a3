// The codes of errors in one table: their statuses, what each means, and what helps. The page of error
// codes is made from it, and the compiler finds an error whose code is not listed here. Vendors' own codes are relayed unchanged
// and are not listed.

import { badRequestCodes, type CodeRow, type Repeat } from './error-codes/bad-request'

interface ErrorFacts {
  /** HTTP statuses; empty for the end of something that began earlier, such as a video. */
  statuses: readonly number[]
  meaning: string
  cure: string
  /** Command that shows the reason, where the error's text and `gateway requests show ID` do not. */
  look: string | undefined
  /** Whether a repeat helps, if its status suggests otherwise. */
  repeat: Repeat | undefined
}

function coming<Code extends string>(
  statuses: readonly number[],
  rows: Readonly<Record<Code, CodeRow>>,
): Readonly<Record<Code, ErrorFacts>> {
  const entries = Object.entries<CodeRow>(rows).map(([code, [meaning, cure, look, repeat]]) => [
    code,
    { statuses, meaning, cure, look, repeat },
  ])
  return Object.fromEntries(entries)
}

export const errorCodes = {
  ...coming([400], badRequestCodes),
  ...coming([400, 404], {
    item_not_found: ['An item of a conversation does not exist.', 'Send the item itself.'],
    model_not_found: [
      'No such model, its upstream has no key, or this key may not use it.',
      'Choose one of `GET /v1/models`, or allow the model for the key.',
      'gateway models list',
    ],
    task_not_found: ['The account has no such task.', 'Check the id and the account.', 'gateway tasks list'],
    unknown_route: ['No such path or method below it.', 'Fix the base URL: `/v1` once, no other.'],
  }),
  ...coming([400, 415], {
    unsupported_encoding: [
      'The body is encoded in a way that is not supported.',
      'Send it plain, or with gzip.',
    ],
  }),
  ...coming([401], {
    link_not_usable: ['The link of the console was used or has expired.', 'Run `gateway console` again.'],
    not_signed_in: ['Nobody is signed in to the console with this browser.', 'Sign in.'],
    sign_in_failed: ['The identity provider refused the sign-in.', 'Start again; see the log.'],
    session_ended: [
      'The session of the console has ended, or its key or admin is no longer valid.',
      'Sign in again.',
      'gateway sessions list',
    ],
    invalid_admin_token: [
      'The token of the admin API is missing, wrong, expired or revoked.',
      'Create another one with `gateway admins create`.',
      'gateway admins list',
    ],
    invalid_api_key: [
      'The key is missing, mistyped, expired, revoked, or of another gateway.',
      'Send `Authorization: Bearer sk-…`; create another one with `gateway keys roll`.',
      'gateway keys list',
    ],
    metrics_token_missing: [
      'Metrics were requested without the token of `metrics.token`.',
      'Give the scraper the token.',
      'gateway config check',
    ],
  }),
  ...coming([402], {
    budget_exceeded: [
      'The key has used up its budget of this day, week or month.',
      'Wait until it is renewed, or raise it with `gateway keys update`.',
      'gateway keys show KEY',
    ],
    in_flight: [
      'The money is there, but running requests hold it.',
      'Wait a second, or request less output, so that less is held.',
      'gateway balance show ACCOUNT',
      'yes',
    ],
  }),
  ...coming([402, 409], {
    insufficient_balance: [
      'The account has less than the maximum price of the request, or than the amount to deduct.',
      'Add money, or request less output.',
      'gateway balance show ACCOUNT',
      'no',
    ],
  }),
  ...coming([403], {
    account_frozen: [
      'An operator has frozen the account.',
      'Unfreeze it with `gateway accounts unfreeze`.',
      'gateway accounts list',
    ],
    plan_missing: [
      "The plan of the key's account is not configured.",
      'Configure the plan, or give the account another one with `gateway accounts update ACCOUNT --plan`.',
      'gateway accounts show ACCOUNT',
    ],
    address_not_allowed: [
      "The key or the token may not be used from the client's address.",
      'Add the address with `gateway keys update KEY --from`, or use an allowed one. Behind a proxy, see `server.trustedProxies`.',
      'gateway keys show KEY',
    ],
    spender_unknown: [
      "A request names an unknown spender of its key, or the key's rule for spenders cannot be read.",
      'Allow `create` in the rule of the key.',
    ],
    token_not_allowed: ['A token was used for an operation that only its key may do.', 'Use the key.'],
    key_paused: [
      'An operator has paused the key.',
      'Resume it with `gateway keys resume`.',
      'gateway keys list',
    ],
    origin_not_allowed: [
      'A web page of another origin called tools.',
      'Allow it in `server.allowedOrigins`.',
      'gateway config check',
    ],
    cross_origin: [
      'A session of the console was used by a page of another origin.',
      'Behind a proxy, forward the header `Host`, or set `server.publicUrl`.',
    ],
    csrf_token_invalid: [
      'A change was requested in a session of the console without its token.',
      'Reload the page.',
    ],
    not_a_member: ["None of the person's groups may sign in here.", 'Add one to `signIn`.'],
    sign_in_not_here: [
      'This kind of sign-in is not available at this address.',
      "Sign in on the gateway's machine, or see `admin` and `console` in the configuration.",
    ],
    role_not_sufficient: [
      'The role of the admin does not allow this.',
      'Ask an owner.',
      'gateway admins list',
    ],
  }),
  ...coming([403, 409], {
    account_closed: ['The account is closed permanently.', 'Use another one.', 'gateway accounts list', 'no'],
  }),
  ...coming([404], {
    account_not_found: ['No such account.', 'Check the name.', 'gateway accounts list'],
    admin_not_found: ['No such admin.', 'Check the name.', 'gateway admins list'],
    artifact_not_found: [
      "A kept result does not exist, has expired, or is another account's.",
      'Make it again, or keep results longer with `artifacts.keep`.',
    ],
    statement_not_found: ['No such statement.', 'Check the number.', 'gateway statements list'],
    plan_not_found: ['No such plan.', 'Check the name.', 'gateway plans list'],
    session_not_found: ['No such session of the console.', 'Check the id.', 'gateway sessions list'],
    code_not_found: ['No such code.', 'Check it for typing errors.', 'gateway codes list'],
    conversation_not_found: ['A conversation was deleted or is too old.', 'Start a new one.'],
    event_not_found: ['No such event, or it is too old.', 'Check the id.', 'gateway events list'],
    upstream_not_found: ['No such upstream.', 'Check the name.', 'gateway upstreams list'],
    token_not_found: ['No such token.', 'Check the id.', 'gateway spenders list'],
    key_not_found: ['No such key.', 'Check the name or the id.', 'gateway keys list'],
    payments_not_configured: [
      'Stripe reported a payment, but payments are not configured.',
      'Set `payments.stripe`.',
      'gateway config check',
    ],
    drill_not_found: ['No such drill.', 'Check the id.', 'gateway drill list'],
    receipts_off: ['The gateway does not issue receipts.', 'Set `receipts: true`.', 'gateway config check'],
    recipient_not_found: ['No such recipient of events.', 'Fix the name: it is in `events.to`.'],
    request_not_found: ['No such request, or its row is too old.', 'Check the id.', 'gateway requests list'],
    response_not_found: ['A response was not kept, was deleted, or is too old.', 'Try again.'],
    task_failed: ['The task has failed: there is no result.', 'Read its error.', 'gateway tasks show ID'],
    video_expired: ['The vendor no longer has the video.', 'Keep results with `artifacts`.'],
    video_failed: ['The task has failed: there is no video.', 'Read its error.', 'gateway tasks show ID'],
  }),
  ...coming([405], {
    method_not_allowed: ['The path does not support this method.', 'Use a method of the header `allow`.'],
  }),
  ...coming([408], {
    body_too_slow: ['The body took too long to arrive.', 'Check the network, or send less.'],
  }),
  ...coming([409], {
    receipt_not_ready: ['The request, or the month, has not ended.', 'Try again later.', undefined, 'yes'],
    upstream_without_key: [
      'The upstream to test has no key.',
      'Set the variable that `gateway upstreams list` names, and reload.',
      'gateway upstreams list',
      'no',
    ],
    account_in_use: [
      'Money is held on the account for running requests.',
      'Freeze it, wait, and close it then.',
      'gateway balance show ACCOUNT',
      'no',
    ],
    balance_too_large: [
      'The balance would exceed the maximum of an account.',
      'Split it between accounts.',
      'gateway balance show ACCOUNT',
      'no',
    ],
    bodies_encrypted: [
      'The kept bodies of the request are encrypted with a key that is not configured.',
      'Add the key to `secrets.olderKeys`.',
      undefined,
      'no',
    ],
    code_redeemed: ['The code was redeemed before.', 'Use another one.', 'gateway codes list', 'no'],
    idempotency_answer_too_large: [
      'The first answer to this Idempotency-Key was too large to be stored.',
      'Use a new key; the first request was charged.',
      undefined,
      'no',
    ],
    account_exists: [
      'An account with this name exists.',
      'Choose another name, or create a key for the account.',
      'gateway accounts list',
      'no',
    ],
    admin_exists: [
      'An admin with this name exists or existed.',
      'Choose another name.',
      'gateway admins list',
      'no',
    ],
    code_ended: ['The code was redeemed or revoked before.', 'Nothing to do.', 'gateway codes list', 'no'],
    not_a_sandbox: [
      'Only a gateway whose vendors are simulated can be filled with requests.',
      'Run `gateway serve --sandbox`.',
      undefined,
      'no',
    ],
    history_exists: [
      'The sandbox already has requests, or is being filled.',
      'Start a new one with `--data-dir`.',
      undefined,
      'no',
    ],
    idempotency_key_in_use: ['The first request with this key is still running.', 'Wait for it to end.'],
    month_closed: [
      'The charges of the month are in an archive and no longer in the database.',
      'Compare a month before it is closed.',
      'gateway retention show',
      'no',
    ],
    months_not_closed: [
      'The books or an archive are wrong, or another run is in progress; nothing more was closed.',
      'The message says which.',
      'gateway balance verify',
      'no',
    ],
    retention_not_configured: [
      'The configuration does not say how long charges are kept.',
      'Set `retention.charges`, or name a time in the request.',
      'gateway retention show',
      'no',
    ],
    key_exists: ['A key with this name exists.', 'Choose another name.', 'gateway keys list', 'no'],
    key_revoked: ['The key is revoked permanently.', 'Create another one.', 'gateway keys list', 'no'],
    not_credited: [
      'The amount cannot be credited to the account.',
      'Read its message.',
      'gateway balance show ACCOUNT',
      'no',
    ],
    task_begun: ['The upstream was already called.', 'Delete it when it has ended.', undefined, 'no'],
    task_ended: ['The task has ended.', 'Nothing to do.', 'gateway tasks show ID', 'no'],
    task_known: [
      "The vendor's id of the task is known.",
      'Nothing to do: it is polled.',
      'gateway tasks show ID',
      'no',
    ],
    task_not_changed: [
      'The task has changed in the meantime.',
      'Read it again.',
      'gateway tasks show ID',
      'no',
    ],
    task_not_failed: ['The task has not failed.', 'Wait for its end.', 'gateway tasks show ID', 'no'],
    task_unknown: [
      'It is unknown whether the vendor has begun the task.',
      'Check at the vendor, then settle the task with `gateway tasks reconcile`.',
      'gateway tasks show ID',
      'no',
    ],
    upstream_id_missing: [
      "The vendor's id of the task is missing.",
      'Send it.',
      'gateway tasks show ID',
      'no',
    ],
    video_not_ended: [
      'The vendor does not stop a running task.',
      'Delete it when it has ended.',
      'gateway tasks show ID',
      'no',
    ],
    video_not_ready: [
      'The task has not ended.',
      'Poll it until its status is `completed`.',
      'gateway tasks show ID',
      'no',
    ],
    webhook_missing: ['The task has no webhook.', 'Nothing to do.', 'gateway tasks show ID', 'no'],
  }),
  ...coming([410], {
    code_expired: ['The code has expired.', 'Create another one.', 'gateway codes list'],
    code_revoked: ['The code was revoked.', 'Create another one.', 'gateway codes list'],
  }),
  ...coming([413], {
    body_too_large: ['The body is larger than the endpoint allows.', 'Send less.'],
    field_too_large: ['A field of the form is too large.', 'Send less.'],
    fields_too_large: ['The fields of the form are too large together.', 'Send less.'],
    file_too_large: ['A file of the form is too large.', 'Send a smaller one.'],
  }),
  ...coming([415], {
    unsupported_media_type: ['The body has the wrong type.', 'Set `Content-Type` as the message says.'],
  }),
  ...coming([422], {
    idempotency_key_reused: ['This Idempotency-Key was used for another request.', 'Use a new key.'],
    payment_not_credited: [
      'A payment could not be credited.',
      'Read the reason in the log; credit it with `gateway balance add`.',
      'gateway balance ledger ACCOUNT',
    ],
  }),
  ...coming([426], {
    upgrade_required: ['WebSocket is not supported.', 'Send POST over HTTP; streams are events.'],
  }),
  ...coming([429], {
    'Throttling.ConcurrencyQuota': [
      'The key or the upstream has reached its limit of running requests.',
      'Wait for one to end; raise `--concurrency` of the key or `concurrency` of the upstream.',
      'gateway keys show KEY',
    ],
    'Throttling.RateQuota': [
      "The key has used up this minute's limit, or the vendor refuses more.",
      'Wait for `retry-after`; raise `--rpm` or `--tpm` of the key, or add more keys of the vendor.',
      'gateway keys show KEY',
    ],
    too_many_watchers: ['More pages of the console are watching than allowed.', 'Close some of them.'],
    too_many_attempts: [
      'Too many wrong tokens, keys or links were sent from this address.',
      'Wait for `retry-after`.',
      'gateway audit',
    ],
  }),
  ...coming([499], {
    caller_left: [
      'The caller disconnected before the answer. This code appears only in the request log.',
      'Raise the timeout of the client, or of the proxy in front of the gateway.',
    ],
  }),
  ...coming([500], {
    internal_error: [
      'A bug in the gateway.',
      'Report it with the log lines `internal_error`.',
      undefined,
      'yes',
    ],
    statement_unreadable: [
      'The row of the statement in the database is damaged.',
      'Restore the row from a backup.',
      'gateway statements verify',
      'no',
    ],
  }),
  ...coming([502], {
    sound_too_long: ['The vendor made more audio than a file can hold.', 'Send less text.', undefined, 'no'],
    upstream_cut: [
      'The vendor stopped early, so the answer is incomplete.',
      'Try again. What was delivered is charged.',
    ],
    upstream_empty: ['The vendor answered without a result and without a reason.', 'Try again.'],
    upstream_file_refused: [
      "The vendor's result is on a host that is not its own.",
      'Allow the host in `fileHosts` of the upstream.',
      'gateway upstreams list',
    ],
    upstream_file_unavailable: ['The result could not be fetched from the vendor.', 'Try again.'],
    upstream_garbage: ["The vendor's answer cannot be read.", 'Try again; check `baseUrl`.'],
    upstream_model_missing: [
      'The vendor does not have the model.',
      'Fix `upstreamModel`, or choose another model.',
      'gateway upstreams test NAME',
      'no',
    ],
    upstream_redirect: [
      'The vendor answers with a redirect.',
      'Fix `baseUrl`.',
      'gateway upstreams test NAME',
    ],
    upstream_unreachable: [
      'The vendor cannot be reached.',
      'Check the network, its name, its certificate, its proxy.',
      'gateway upstreams test NAME',
    ],
  }),
  ...coming([502, 503, 504, 529], {
    upstream_error: ['The vendor failed or is overloaded.', 'Try again; use a route with another model.'],
  }),
  ...coming([503], {
    issuer_unavailable: ['An identity provider does not answer.', 'Try again, or sign in with a token.'],
    artifact_unavailable: ['A kept result cannot be read.', 'Check its folder or bucket.', 'gateway doctor'],
    audio_busy: ['Too many audio files are being read.', 'Try again in a moment.'],
    backup_failed: ['A backup could not be made.', 'Check the disk and the log.', 'gateway doctor'],
    database_unavailable: [
      'The database accepts no writes. Nothing was sent to a vendor.',
      'Start it again; free disk space.',
      'gateway doctor',
    ],
    encoder_busy: ['Too many MP3 files are being encoded.', 'Try again in a moment, or request wav.'],
    results_not_deleted: ['Kept results cannot be deleted now.', 'Try again.', 'gateway doctor'],
    hold_expired: ['The process was suspended before the request was sent.', 'Try again.'],
    shutting_down: [
      'The gateway is stopping.',
      'Try again; restart with `gateway restart`, which leaves no gap.',
    ],
    starting: ['The gateway is starting.', 'Try again in a moment.', 'gateway health --ready'],
    upstream_unavailable: [
      "The vendor refuses the operator's key, billing or permissions, or has failed repeatedly and is not called for some seconds.",
      'Fix the cause given in the log under `upstream_refused_operator`; otherwise wait.',
      'gateway upstreams health',
      'as `x-should-retry` says',
    ],
    uploads_unavailable: ['Uploaded files cannot be stored.', 'Free disk space.', 'gateway doctor'],
  }),
  ...coming([504], {
    upstream_timeout: [
      'The vendor did not answer in time, or fell silent.',
      'Raise `timeoutMs` of the upstream, or request less.',
      'gateway upstreams test NAME',
    ],
  }),
  ...coming([], {
    canceled: ['A task was stopped on purpose.', 'Nothing was charged.', 'gateway tasks show ID'],
    no_video: ['The vendor ended a task without a video.', 'Try again.', 'gateway tasks show ID'],
    not_begun: [
      'The vendor never began the task.',
      'Try again; nothing was charged.',
      'gateway tasks show ID',
      'yes',
    ],
    server_error: ['The process of a background response ended.', 'Try again.', undefined, 'yes'],
    task_interrupted: ['The process that was making the answer stopped.', 'Try again.', undefined, 'yes'],
    task_lost: ['The vendor no longer knows the task.', 'Try again.', 'gateway tasks show ID', 'yes'],
    timed_out: [
      'The vendor did not finish the task in time.',
      'Try again; nothing was charged.',
      'gateway tasks show ID',
      'yes',
    ],
    unknown: [
      'It is unknown whether the vendor has begun the task.',
      'Check at the vendor, then settle the task with `gateway tasks reconcile`.',
      'gateway tasks show ID',
    ],
  }),
} as const

export type ErrorCode = keyof typeof errorCodes
/** A code of a vendor, with its spelling. */
export type RelayedCode = string & { readonly isRelayed: true }
