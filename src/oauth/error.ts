// Errors of OAuth, in the form that RFC 6749 (5.2) and RFC 7591 (3.2.2) give them.

type OAuthCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_redirect_uri'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'temporarily_unavailable'

const STATUSES: Partial<Record<OAuthCode, number>> = { invalid_client: 401, temporarily_unavailable: 429 }

export class OAuthError extends Error {
  readonly status: number

  constructor(
    readonly code: OAuthCode,
    message: string,
  ) {
    super(message)
    this.status = STATUSES[code] ?? 400
  }

  body(): object {
    return { error: this.code, error_description: this.message }
  }
}
