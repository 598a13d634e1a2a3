// BytePlus ModelArk, and Volcengine Ark at home: images and videos. Errors are `{error:{code,message,param,type}}`; members without
// content are often empty strings.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Codes about bills, limits and permissions of the operator's account, whatever the status. */
const OPERATOR_CODE =
  /^(AccountOverdueError|AuthenticationError|InvalidApiKey|ModelNotOpen|AccessDenied|OperationDenied|SetLimitExceeded|QuotaExceeded|UnsupportedModel|InvalidEndpoint)/

export const ark: UpstreamKind = {
  kind: 'ark',
  baseUrl: 'https://ark.ap-southeast.bytepluses.com/api/v3',
  secretVariable: 'ARK_API_KEY',
  prefix: { openai: '', native: '' },
  fileHosts: ['.volces.com', '.bytepluses.com'],
  headers: (secret) => ({ authorization: `Bearer ${secret}` }),
  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || OPERATOR_CODE.test(shape.code ?? '')
    return {
      message: shape.message,
      code: shape.code || null,
      type: shape.type || null,
      param: shape.param || null,
      whose: operator ? 'operator' : 'caller',
    }
  },
}
