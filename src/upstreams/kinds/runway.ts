// Runway: videos of its own models and of others. Errors are `{error, issues: [{message, path}]}`; an account without credits is a 400:
// github.com/runwayml/sdk-node/issues/28, 2024-12.

import { nativeCall } from '../../contract/call'
import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'
import { asObject } from '../../lib/objects'

const OPERATOR = /enough credits|api key/i

export const runway: UpstreamKind = {
  kind: 'runway',
  baseUrl: 'https://api.dev.runwayml.com/v1',
  secretVariable: 'RUNWAYML_API_SECRET',
  prefix: { openai: '', native: '' },
  // The host of `output` in the vendor's own examples.
  fileHosts: ['dnznrvs05pmza.cloudfront.net'],
  // `runwayVersion` of @runwayml/sdk 4.20, without which the vendor refuses a request.
  headers: (secret) => ({ authorization: `Bearer ${secret}`, 'x-runway-version': '2024-11-06' }),
  error(status, body) {
    const shape = readErrorShape(body)
    const { issues } = asObject(body)
    const { message, path, code } = asObject(Array.isArray(issues) ? issues[0] : undefined)
    const field = Array.isArray(path) ? path.join('.') : ''
    const operator = [401, 402, 403, 404].includes(status) || OPERATOR.test(shape.message)
    return {
      ...shape,
      message: typeof message === 'string' ? `${shape.message} ${field}: ${message}` : shape.message,
      code: typeof code === 'string' ? code : shape.code,
      param: field === '' ? shape.param : field,
      whose: operator ? 'operator' : 'caller',
    }
  },
  // `Organization.retrieve` of @runwayml/sdk 4.20.
  probe: nativeCall('/organization', null, { method: 'GET' }),
}
