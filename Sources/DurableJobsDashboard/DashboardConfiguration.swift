import DurableJobsAdmin

extension Dashboard {
  /// The appearance and address of a dashboard. Everything has a working default.
  public struct Configuration: Sendable {
    /// The name at the top of each page.
    public var brand = "Jobs"
    /// The public URL of a dashboard behind a proxy, such as `https://ops.example.org`: cookies are then sent over TLS
    /// only, and forms are accepted from that origin. nil accepts the host of the request.
    public var url: String?
    /// The program's name for the setting of `url`, shown on the page that refuses a form.
    public var urlSetting: String?
    /// Secrets that no page may show: passwords, tokens, keys. Texts of fewer than eight bytes are ignored.
    public var secrets: [String] = []
    /// The program's names for its commands and workers.
    public var terms = DoctorTerms()

    public init() {}

    /// The scheme, host and port, as browsers send them.
    var origin: String? {
      url.map { $0.split(separator: "/", omittingEmptySubsequences: false).prefix(3).joined(separator: "/") }
    }
  }
}
