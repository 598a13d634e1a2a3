// The metadata of the gateway for programs that connect by OAuth: RFC 9728 for the tools, RFC 8414 for the server that issues
// tokens. URLs come only from the configuration: a Host header, which any caller can write, must never name a place to sign in.

import type { Config } from '../config/schema'

export const SCOPE = 'mcp'
/** Paths of the tools. All are the same resource. */
export const RESOURCE_PATHS = ['/mcp', '/v1/mcp'] as const
export const PROTECTED_RESOURCE = '/.well-known/oauth-protected-resource'
export const AUTHORIZATION_SERVER = '/.well-known/oauth-authorization-server'
export const ENDPOINTS = {
  authorize: '/oauth/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
} as const

/** The address of the gateway for programs that connect by OAuth; undefined if they may not. */
export function issuerOf({ server }: Pick<Config, 'server'>): string | undefined {
  if (server?.mcpSignIn !== true || server.publicUrl === undefined) return undefined
  return new URL(server.publicUrl).origin
}

export function resourceMetadata(issuer: string, path: string): object {
  return {
    resource: `${issuer}${path}`,
    authorization_servers: [issuer],
    scopes_supported: [SCOPE],
    bearer_methods_supported: ['header'],
    resource_name: 'Unified Model Gateway',
    resource_documentation: `${issuer}/docs`,
  }
}

export function serverMetadata(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}${ENDPOINTS.authorize}`,
    token_endpoint: `${issuer}${ENDPOINTS.token}`,
    registration_endpoint: `${issuer}${ENDPOINTS.register}`,
    revocation_endpoint: `${issuer}${ENDPOINTS.revoke}`,
    scopes_supported: [SCOPE],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  }
}

/** The header of a 401 by which a program finds out how to connect (RFC 9728, 5.1). */
export function challengeOf(issuer: string, path: string, hadToken: boolean): string {
  const error = hadToken ? 'error="invalid_token", ' : ''
  return `Bearer ${error}resource_metadata="${issuer}${PROTECTED_RESOURCE}${path}", scope="${SCOPE}"`
}
