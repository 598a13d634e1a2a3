// The events of the log in one table: how much each matters, and what it means. The page of events is made of it, and a
// test finds what is logged without standing here.

export const LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type Level = (typeof LEVELS)[number]

interface LogEvent {
  level: Level
  meaning: string
}

const debug = (meaning: string): LogEvent => ({ level: 'debug', meaning })
const info = (meaning: string): LogEvent => ({ level: 'info', meaning })
const warn = (meaning: string): LogEvent => ({ level: 'warn', meaning })
const error = (meaning: string): LogEvent => ({ level: 'error', meaning })

export const logEvents: Readonly<Record<string, LogEvent>> = {
  admin_login_failed: warn('Somebody tried the admin API with a wrong token.'),
  admin_refused: warn('An admin tried what their role does not allow.'),
  artifact_left_behind: warn(
    'A deleted result stays in a place that is no longer configured: remove it there.',
  ),
  artifact_lost: error('A kept result is missing from its place.'),
  artifact_not_kept: warn("A result could not be copied; the vendor's own address was given instead."),
  artifact_not_removed: warn('A result could not be deleted from its place, and is tried again.'),
  artifact_removed_early: warn(
    'A result was deleted before its time, because `artifacts.maxBytes` was reached.',
  ),
  background_cut: warn('A response in the background was cut off.'),
  background_failed: error('A response in the background could not be followed.'),
  background_not_written: warn(
    'Events of a response in the background could not be written, and are tried again.',
  ),
  backup_failed: error('A backup could not be made.'),
  backup_made: info('A backup was made.'),
  books_wrong: error('The books do not add up: see `gateway balance verify`.'),
  certificate_renewed: info('Another certificate was read from the files of `server.tls`.'),
  charge_not_ended: error(
    'A charge could not be ended: its hold is given back when it expires. Look the request up.',
  ),
  charge_not_ended_yet: warn('The database could not end a charge, which is tried again.'),
  clock_jumped: warn(
    "The machine's clock was set by more than ten seconds; the gateway's own follows slowly.",
  ),
  models_discovered: info(
    'Servers of the operator have told of other models than before, which are served now.',
  ),
  models_not_discovered: warn(
    'A server of the operator does not tell of its models; those that it last had are still served.',
  ),
  config_not_reloaded: error('A changed configuration has faults; the one before stays in force.'),
  config_reloaded: info('Another configuration is in force.'),
  connections_accepted: info('New connections are taken again.'),
  connections_closed: warn('Silent connections were closed, because there were too many.'),
  connections_not_accepted: error('New connections are not taken: the limit is reached.'),
  connections_not_steered: warn(
    'New connections cannot be led past an older process: some may be reset when it stops.',
  ),
  connections_refused: warn('Connections of one address were refused: it has too many.'),
  control_unavailable: warn('Commands cannot reach this process, as `config reload` would.'),
  database_not_compacted: warn('The database could not be rewritten after it was encrypted.'),
  database_unavailable: error('The database takes no changes or does not answer.'),
  encryption_key_unknown: error('Another process encrypts with a key that this one lacks.'),
  hold_not_extended: warn('A stream could not hold more, and ends as at its limit.'),
  internal_error: error('A fault of the gateway itself: please report it with its text.'),
  job_failed: warn('A job in the background failed, and runs again.'),
  metric_not_read: warn('A metric could not be read, and is missing from the answer.'),
  payment_credited: info('A payment was credited to its account.'),
  payment_not_credited: error(
    'A payment could not be credited: its reason is there. The service reports it again for three days.',
  ),
  payment_refused: warn('A report of a payment was not signed as it must be.'),
  request: info('A request has ended.'),
  request_bodies_lost: warn('Bodies of requests could not be kept.'),
  request_failed: warn('A request failed for a reason that its caller does not see.'),
  request_malformed: warn('A request looks like a probe: no client of the API sends it.'),
  request_rows_lost: warn('Rows of the request log could not be kept.'),
  results_not_kept: warn('Results of a request could not be kept.'),
  route_next: info('A model of a route could not answer, and the next one is tried.'),
  row_unreadable: error('A row cannot be decrypted with the keys of this process.'),
  rows_encrypted: info('All rows are encrypted with the current key.'),
  rows_encrypting: info('Rows are being encrypted with the current key.'),
  task_end_lost: warn('A task had ended already when its end was reported.'),
  task_ended: info('A video task has ended.'),
  task_id_refused: error('A vendor gave a task the id of another one.'),
  task_not_recovered: warn('A task of a process that died could not be taken over, and is tried again.'),
  task_not_stored_yet: warn("A vendor's id of a task could not be stored, and is tried again."),
  task_poll_failed: warn('A vendor could not be asked after a task.'),
  task_poll_without_answer: warn("A vendor's answer says nothing about the task."),
  task_results_not_deleted: warn('A task was deleted, but not all of its results.'),
  task_succeeded_late: warn('A vendor reports a success after the task has failed: it is charged once.'),
  task_unknown: error('It is not known whether a vendor has begun a task: see `gateway tasks reconcile`.'),
  task_wait_failed: warn('The wait for the end of a task failed; the task goes on.'),
  telemetry_lost: warn('Traces or logs could not be sent to the collector, and were dropped.'),
  upstream_file_refused: warn('A vendor did not give a file of a result.'),
  upstream_refused_operator: error("A vendor refuses the operator's account: its key, its bill, its rights."),
  upstream_usage_invalid: warn("A vendor's usage makes no sense; the request was charged by a count."),
  video_cut: warn('A video was cut off on its way to a caller.'),
  webhook_attempt: debug('A webhook was sent, or could not be.'),
  webhook_failed: warn('A webhook could not be handled, and is tried again.'),
}

/** How much an event matters. */
export function levelOf(event: string): Level {
  return logEvents[event]?.level ?? 'warn'
}

export function isLevel(level: Level, least: Level): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(least)
}
