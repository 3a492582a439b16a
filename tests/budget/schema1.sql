BEGIN TRANSACTION;
CREATE TABLE freegap_journal (
	sequence BIGINT NOT NULL, 
	dataset TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	reservation BIGINT, 
	amount TEXT NOT NULL, 
	total TEXT NOT NULL, 
	spent TEXT NOT NULL, 
	reserved TEXT NOT NULL, 
	what TEXT NOT NULL, 
	parameters TEXT NOT NULL, 
	who TEXT NOT NULL, 
	at TEXT NOT NULL, 
	previous TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (sequence), 
	UNIQUE (reservation)
);
INSERT INTO "freegap_journal" VALUES(1,'shop','create',NULL,'5/1','5/1','0/1','0/1','create','{}','analyst@host','2026-11-16T00:31:04+00:00','c41d61b1584b84df0fcb8fe450395605549135bad390893a4d88cca60a406430','0b81b1f0db17f93ba9eb978f301bd90d6762ca52f1f8485e338fb493fbde1a08');
INSERT INTO "freegap_journal" VALUES(2,'web','create',NULL,'1/3','1/3','0/1','0/1','create','{}','analyst@host','2026-11-16T00:31:04+00:00','0b81b1f0db17f93ba9eb978f301bd90d6762ca52f1f8485e338fb493fbde1a08','9d8766ceeb99e49738471dbc4909ee9fa46b48a62f303a48c37a4f07a962be03');
INSERT INTO "freegap_journal" VALUES(3,'shop','reserve',NULL,'1/1','5/1','0/1','1/1','sparse_vector','{"epsilon":"1","k":3}','analyst@host','2026-11-16T00:31:04+00:00','9d8766ceeb99e49738471dbc4909ee9fa46b48a62f303a48c37a4f07a962be03','98c14efab85ca4f5ce3bd269f7400e9456d6378b35ae78de561c35d0758742e1');
INSERT INTO "freegap_journal" VALUES(4,'shop','settle',3,'2/5','5/1','2/5','0/1','sparse_vector','{}','analyst@host','2026-11-16T00:31:04+00:00','98c14efab85ca4f5ce3bd269f7400e9456d6378b35ae78de561c35d0758742e1','4b3091ca9a4c7b8e756e6e5995f85d12adab97f3fec50112fcb8152287a31be7');
INSERT INTO "freegap_journal" VALUES(5,'shop','reserve',NULL,'1/2','5/1','2/5','1/2','noisy_top_k','{"k":10}','analyst@host','2026-11-16T00:31:04+00:00','4b3091ca9a4c7b8e756e6e5995f85d12adab97f3fec50112fcb8152287a31be7','b27ee26f26d0e979755254080e547bf21acfb63e4cf7c83e3730bd9084f2ba96');
INSERT INTO "freegap_journal" VALUES(6,'web','reserve',NULL,'1/6','1/3','0/1','1/6','measure','{}','analyst@host','2026-11-16T00:31:04+00:00','b27ee26f26d0e979755254080e547bf21acfb63e4cf7c83e3730bd9084f2ba96','12f521a26c4a9167e27e02221ccba7d6877ba7c9d0ca748bfb3c5e79a4967fe8');
INSERT INTO "freegap_journal" VALUES(7,'web','abandon',6,'0/1','1/3','0/1','0/1','no file','{}','analyst@host','2026-11-16T00:31:04+00:00','12f521a26c4a9167e27e02221ccba7d6877ba7c9d0ca748bfb3c5e79a4967fe8','e71c02c53eb1a775979a72cf67b0a49fa24840f79698a49e4cc58d7cb7f40ed9');
INSERT INTO "freegap_journal" VALUES(8,'web','reserve',NULL,'1/7','1/3','0/1','1/7','measure','{}','analyst@host','2026-11-16T00:31:04+00:00','e71c02c53eb1a775979a72cf67b0a49fa24840f79698a49e4cc58d7cb7f40ed9','fcd7cf08a555fee967dfaee8a29dc809b63c29792d7de27e43c69a4c0ba4f112');
INSERT INTO "freegap_journal" VALUES(9,'web','settle',8,'1/7','1/3','1/7','0/1','measure','{}','analyst@host','2026-11-16T00:31:04+00:00','fcd7cf08a555fee967dfaee8a29dc809b63c29792d7de27e43c69a4c0ba4f112','5f70ba7908049caed93c1ff7ba53c90e458ef3cd9c2efd2cf00e74f1f6868e3c');
CREATE TABLE freegap_ledger (
	id INTEGER NOT NULL CHECK (id = 1), 
	schema_version INTEGER NOT NULL, 
	sequence BIGINT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "freegap_ledger" VALUES(1,1,9,'5f70ba7908049caed93c1ff7ba53c90e458ef3cd9c2efd2cf00e74f1f6868e3c');
CREATE INDEX freegap_journal_by_dataset ON freegap_journal (dataset, sequence);
CREATE TRIGGER freegap_journal_no_update BEFORE update ON freegap_journal BEGIN SELECT RAISE(ABORT, 'the freegap journal is append-only'); END;
CREATE TRIGGER freegap_journal_no_delete BEFORE delete ON freegap_journal BEGIN SELECT RAISE(ABORT, 'the freegap journal is append-only'); END;
COMMIT;
