// Simulates BytePlus ModelArk: its paths, key and errors. It must never accept a wrong key, or a path and method that
// the real service does not have.

import { asObject } from '../json'
import { bearerToken } from '../replies'
import type { Simulator } from '../simulator'
import { errorReply, failureReply } from './errors'
import { arkImageFile, generateImages, imageModels } from './images'
import { videoFile, videoNames, videoReply } from './video'

export const ark: Simulator = {
  secret: 'ark-sandbox-0001',
  basePath: '/api/v3',
  standIns: [
    ['/images/', 'seedream-4-5-251128'],
    ['/tasks', 'seedance-2-0-260128'],
  ],
  knows: (model) => videoNames.test(model) || imageModels.has(model),

  refuse(request) {
    if (bearerToken(request) === ark.secret) return undefined
    const message = 'The API key in the request is missing or invalid.'
    return errorReply({ status: 401, code: 'AuthenticationError', message })
  },

  fail: (_request, failure) => failureReply(failure),

  outOfQuota() {
    const message = 'The request failed because your account has an overdue balance.'
    return errorReply({ status: 403, code: 'AccountOverdueError', message })
  },

  answer(request) {
    const video = videoReply(request)
    if (video) return video
    const { method, path } = request
    if (method !== 'POST' || path !== '/api/v3/images/generations') {
      const message = `The path ${method} ${path} is not known.`
      return errorReply({ status: 404, code: 'ResourceNotFound', message })
    }
    const body = asObject(request.json)
    if (body) return generateImages(request, body)
    const message = 'The request body is not a valid JSON object.'
    return errorReply({ status: 400, code: 'InvalidParameter', message })
  },

  file: (path, query) => videoFile(path) ?? arkImageFile(path, query),
}
