import CurlClient

extension MediaStoreError {
  /// Explains a refusal to an operator.
  init(_ refusal: S3Refusal, _ operation: S3Operation, _ address: S3Address) {
    let shown = [refusal.code, "status \(refusal.status)"].compactMap(\.self).joined(separator: ", ")
    let (code, sentence) = Self.meaning(of: refusal, operation, address)
    self.init(code, "\(address.name): \(sentence) (\(shown))", reason: refusal.code)
  }

  private static func meaning(
    of refusal: S3Refusal, _ operation: S3Operation, _ address: S3Address
  ) -> (Code, String) {
    if let region = refusal.region, region != address.region, refusal.status < 500, refusal.status != 404 {
      return (.refused, "the bucket is in region \(region): write region=\(region) in FANMILL_MEDIA_URL")
    }
    switch refusal.code {
    case "NoSuchBucket":
      return (.refused, "there is no bucket of that name: create it, or correct FANMILL_MEDIA_URL")
    case "AccessDenied", "AllAccessDisabled":
      return (.refused, "the access key may not \(operation.verb): grant it \(operation.permission) on the bucket")
    case "SignatureDoesNotMatch":
      return (.refused, "the secret in FANMILL_MEDIA_URL does not match its access key: correct it")
    case "InvalidAccessKeyId", "InvalidToken", "ExpiredToken":
      return (.refused, "the access key in FANMILL_MEDIA_URL is unknown to the store: correct it")
    case "RequestTimeTooSkewed", "RequestExpired":
      return (.refused, "the clocks of this machine and the store differ too much: synchronize this machine with NTP")
    case "QuotaExceeded", "XMinioStorageFull":
      return (.diskFull, "the store is full: enlarge it, or raise the bucket's quota")
    default: break
    }
    switch refusal.status {
    case 507: return (.diskFull, "the store is full: enlarge it, or raise the bucket's quota")
    case _ where refusal.isPassing:
      return (.unreachable, "the store cannot \(operation.verb) at the moment: check its log if this persists")
    case 300..<400:
      return (.refused, "the bucket is elsewhere: write its host and region into FANMILL_MEDIA_URL")
    case 401, 403:
      return (.refused, "the access key may not \(operation.verb): grant it \(operation.permission) on the bucket")
    default: return (.refused, "the store refuses to \(operation.verb): check FANMILL_MEDIA_URL")
    }
  }

  /// Explains why there was no response.
  init(_ error: HTTPClientError, _ address: S3Address) {
    switch error.code {
    case .file: self.init(.file, error.message)
    case .diskFull: self.init(.diskFull, "\(error.message): free some space on its disk, or enlarge it")
    case .bodyTooLarge: self.init(.tooLarge, error.message)
    case .tls:
      self.init(.unreachable, "\(address.name): \(error.message): check the host and its certificate")
    default:
      self.init(
        .unreachable, "\(address.name): \(error.message): check the host in FANMILL_MEDIA_URL and the store's health")
    }
  }
}
