extension APIOperation {
  /// Every route, in the order of the document.
  static let all: [APIOperation] = [
    openAccount, signIn, signOut, requestPasswordReset, resetPassword, requestConfirmation, confirmEmail,
    confirmDeletion, fetchExport,
    readAccount, changeAccount, deleteAccount, changePassword, changeEmail, listSessions, endOtherSessions, endSession,
    requestExport,
    searchUsers, readUser, follow, unfollow, listFollowers, listFollowing, listUserPosts,
    createPost, searchPosts, readPost, editPost, deletePost, readFanOut,
    readHomeFeed, readFollowingFeed, createComment, listComments, deleteComment, like, unlike, listLikes,
    listNotifications, countUnread, checkNotifications,
    listConversations, countUnreadMessages, listMessages, sendMessage, readConversation, listen,
    uploadPicture, issueUploadToken, readUpload, deleteUpload, showPicture, showPictureHead,
    readCeleb, listCelebs, registerCeleb, editCeleb, removeCeleb, replaceCeleb, giveHeart, searchChannels, readLookup,
    readRanking, readHistory, issueCertificate, checkCertificate, showSVGCard, showPNGCard, listKeys,
    takePurchaseNotice, listPurchases,
    beginMeeting, joinMeeting, readMeeting, leaveMeeting, openCommitment, listSealedMessages, sendSealedMessage,
    sealRecord, listAgreements, listTemplates, readAgreement, deleteAgreement, withdraw, readBackup, keepBackup,
    deleteBackup, openBackup,
    block, unblock, mute, unmute, listBlocks, listMutes, report, listNotices,
    enqueueJob, readJob, readAutoscaling,
    readDocument, showDocs, showDocsPage, showDocsStyle,
  ]
}
